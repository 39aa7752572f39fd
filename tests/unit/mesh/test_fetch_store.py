"""Fetched payloads are brought once, kept while they are used, and never beyond their room."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.errors import Unreachable
from meshctl.mesh.fetch.cache import Kept, making_room
from meshctl.mesh.fetch.child import Wrong
from meshctl.mesh.fetch.store import NoRoom, Payloads
from meshctl.mesh.launch import Launch, launch_of
from meshctl.mesh.log import Log
from meshctl.mesh.waiting import QueueFull, Waiting
from meshctl.spec.registry import FileEntry, ModelEntry

SIZE = 100


class FakeSource:
    """Brings files at once, or when their gate is opened; `wrong` ones are never right."""

    def __init__(self) -> None:
        self.brought: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.failures: dict[str, Unreachable] = {}
        self.before: Callable[[], None] = lambda: None

    async def __call__(self, launch: Launch) -> None:
        self.brought.append(launch.payload)
        self.before()
        if gate := self.gates.get(launch.payload):
            await gate.wait()
        if failure := self.failures.get(launch.payload):
            raise failure
        for source in launch.sources:
            source.path.parent.mkdir(parents=True, exist_ok=True)
            source.path.write_bytes(bytes(source.bytes))
            manifest_of(source.path).write_text(manifest("a" * 64))


def manifest_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.manifest.json")


def manifest(sha256: str) -> str:
    """What `payload fetch` writes beside a file, in short."""
    return json.dumps({"kind": "payload-manifest/v1", "sha256": sha256})


def model(folder: Path, name: str, payload: str = "") -> Launch:
    payload = payload or name
    name_of_file = f"{payload}.gguf"
    file = FileEntry(
        path=name_of_file, bytes=SIZE, sha256="a" * 64, source=f"gs://models/{name_of_file}"
    )
    entry = ModelEntry(id=name, command=("engine",), payload=payload, files=(file,))
    return launch_of(entry, folder)


Act = Callable[[Payloads, FakeSource], Awaitable[None]]


def run(act: Act, *launches: Launch, limit: int | None = None, queue: int = 9) -> FakeSource:
    """One mesh's payloads, acted upon."""
    folder = launches[0].sources[0].path.parent.parent

    async def story() -> FakeSource:
        source = FakeSource()
        payloads = Payloads(launches, folder, limit, source, Log("error"), queue)
        async with asyncio.timeout(20):
            try:
                await act(payloads, source)
            finally:
                await payloads.stop()
        return source

    return asyncio.run(story())


def nobody(_: Waiting) -> None:
    """Hears nothing."""


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_two_models_of_one_payload_fetch_it_once(tmp_path: Path) -> None:
    base, other = model(tmp_path, "base", "p"), model(tmp_path, "base-q4k", "p")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        await asyncio.gather(payloads.ensure(base, nobody), payloads.ensure(other, nobody))
        assert (tmp_path / "p/p.gguf").stat().st_size == SIZE

    assert run(act, base, other).brought == ["p"]


def test_who_waits_is_told_so_and_who_need_not_wait_is_not(tmp_path: Path) -> None:
    one, told = model(tmp_path, "a"), list[Waiting]()

    async def act(payloads: Payloads, _: FakeSource) -> None:
        for _ in range(2):
            await payloads.ensure(one, told.append)

    run(act, one)

    assert told == [Waiting("loading", 0)]


def test_a_client_that_leaves_does_not_end_the_fetch_of_others(tmp_path: Path) -> None:
    one = model(tmp_path, "a")

    async def act(payloads: Payloads, source: FakeSource) -> None:
        source.gates["a"] = asyncio.Event()
        waiting = [asyncio.create_task(_use(payloads, one)) for _ in range(2)]
        await settled()
        waiting[0].cancel()
        await settled()
        source.gates["a"].set()
        await waiting[1]

    assert run(act, one).brought == ["a"]


async def _use(payloads: Payloads, launch: Launch) -> None:
    await payloads.ensure(launch, nobody)


def test_the_least_recently_used_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    a, b, c = (model(tmp_path, name) for name in "abc")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        await _use(payloads, a)
        await _use(payloads, b)
        await _use(payloads, a)
        await _use(payloads, c)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]
        engine = await payloads.load(a, FakeEngine.start)
        await _use(payloads, b)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
        await engine.stop()

    run(act, a, b, c, limit=2 * SIZE)


def test_a_payload_that_somebody_removed_is_fetched_again(tmp_path: Path) -> None:
    one = model(tmp_path, "a")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        await _use(payloads, one)
        (tmp_path / "a/a.gguf").unlink()
        await _use(payloads, one)

    assert run(act, one).brought == ["a", "a"]


def test_wrong_bytes_are_not_fetched_again_and_a_lost_server_is_asked_again(
    tmp_path: Path,
) -> None:
    a, b = model(tmp_path, "a"), model(tmp_path, "b")

    async def act(payloads: Payloads, source: FakeSource) -> None:
        source.failures = {"a": Wrong("other bytes"), "b": Unreachable("no answer")}
        for launch in (a, a, b, b):
            with pytest.raises(Unreachable):
                await _use(payloads, launch)

    assert run(act, a, b).brought == ["a", "b", "b"]


def test_no_more_than_the_queue_holds_wait_for_a_fetch(tmp_path: Path) -> None:
    one = model(tmp_path, "a")

    async def act(payloads: Payloads, source: FakeSource) -> None:
        source.gates["a"] = asyncio.Event()
        first = asyncio.create_task(_use(payloads, one))
        await settled()
        with pytest.raises(QueueFull):
            await _use(payloads, one)
        source.gates["a"].set()
        await first

    run(act, one, queue=1)


def test_an_engine_keeps_its_payload_until_it_was_stopped(tmp_path: Path) -> None:
    a, b = model(tmp_path, "a"), model(tmp_path, "b")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        engine = await payloads.load(a, FakeEngine.start)
        with pytest.raises(NoRoom, match="in use are: a"):
            await _use(payloads, b)
        await engine.stop()
        await _use(payloads, b)
        assert not (tmp_path / "a").exists()

    run(act, a, b, limit=SIZE)


class FakeEngine:
    """An engine that is ready at once."""

    url = "http://engine"

    @staticmethod
    async def start(launch: Launch) -> FakeEngine:
        there = all(source.path.exists() for source in launch.sources)
        assert there, "proved before the engine starts"
        return FakeEngine()

    async def ended(self) -> str:
        return "never"

    async def stop(self) -> None:
        await asyncio.sleep(0)


def test_a_load_that_fails_lets_its_payload_go(tmp_path: Path) -> None:
    a, b = model(tmp_path, "a"), model(tmp_path, "b")

    async def fail(_: Launch) -> FakeEngine:
        raise Unreachable("it does not start")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        with pytest.raises(Unreachable, match="does not start"):
            await payloads.load(a, fail)
        await _use(payloads, b)

    run(act, a, b, limit=SIZE)


def test_what_an_earlier_mesh_fetched_counts_and_what_is_not_ours_is_left_alone(
    tmp_path: Path,
) -> None:
    for name in ("old", "baked", "shared"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.gguf").write_bytes(bytes(SIZE))
        manifest_of(tmp_path / name / "x.gguf").write_text(manifest("b" * 64))
    for path in ("shared/thesis.txt", "mine/notes.txt", "project/node/x/app.manifest.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / "half").mkdir()
    (tmp_path / "half/.x.gguf.part").write_bytes(bytes(SIZE))
    one = model(tmp_path, "a")
    baked = dataclasses.replace(model(tmp_path, "b", "baked"), sources=())

    async def act(payloads: Payloads, _: FakeSource) -> None:
        await _use(payloads, one)
        await (await payloads.load(baked, FakeEngine.start)).stop()

    run(act, one, baked, limit=SIZE)

    left = ["a", "baked", "mine", "project", "shared"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert (tmp_path / "shared/x.gguf").exists()
    assert (tmp_path / "project/node/x/app.manifest.json").exists()


def test_what_somebody_laid_into_the_folder_of_a_payload_outlives_the_payload(
    tmp_path: Path,
) -> None:
    a, b = model(tmp_path, "a"), model(tmp_path, "b")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        await _use(payloads, a)
        (tmp_path / "a/notes.txt").write_text("mine")
        await _use(payloads, b)

    run(act, a, b, limit=SIZE)

    assert [path.name for path in (tmp_path / "a").iterdir()] == ["notes.txt"]


def test_no_request_makes_room_at_the_cost_of_one_that_waits_but_the_lane_may(
    tmp_path: Path,
) -> None:
    a, b = model(tmp_path, "a"), model(tmp_path, "b")

    async def act(payloads: Payloads, _: FakeSource) -> None:
        with payloads.wanted(a):
            await _use(payloads, a)
            with pytest.raises(NoRoom, match="in use are: a"):
                await _use(payloads, b)
            await (await payloads.load(b, FakeEngine.start)).stop()
        assert not (tmp_path / "a").exists()

    run(act, a, b, limit=SIZE)


@pytest.mark.parametrize(("known", "gone"), [("b" * 64, True), ("a" * 64, False), (None, False)])
def test_what_an_earlier_release_fetched_under_the_same_name_makes_way(
    known: str | None, gone: bool, tmp_path: Path
) -> None:
    one = model(tmp_path, "a")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.gguf").write_bytes(b"old")
    if known:
        manifest_of(tmp_path / "a/a.gguf").write_text(manifest(known))
    there: list[bool] = []

    async def act(payloads: Payloads, source: FakeSource) -> None:
        source.before = lambda: there.append((tmp_path / "a/a.gguf").exists())
        await _use(payloads, one)

    run(act, one)

    assert there == [not gone]


KEPT = st.lists(
    st.builds(Kept, st.sampled_from("abcdefgh"), st.integers(1, 50), st.floats(0, 9)),
    unique_by=lambda one: one.name,
)


@given(KEPT, st.integers(1, 60), st.integers(1, 200), st.frozensets(st.sampled_from("abcdefgh")))
def test_room_is_made_within_the_limit_by_as_few_as_the_order_allows_and_never_by_busy_ones(
    kept: list[Kept], needed: int, limit: int, busy: frozenset[str]
) -> None:
    gone = making_room(kept, needed, limit, busy)

    idle = [one for one in kept if one.name not in busy]
    if gone is None:
        assert sum(one.bytes for one in kept if one.name in busy) + needed > limit
        return
    stays = [one for one in kept if one.name not in gone]
    assert set(gone) <= {one.name for one in idle}
    assert sum(one.bytes for one in stays) + needed <= limit
    youngest_gone = max((one.used_at for one in kept if one.name in gone), default=0.0)
    assert all(one.used_at >= youngest_gone for one in stays if one in idle)
