"""A folder keeps its promises: every write under its condition, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.objects import DirStore, ObjectStore
from meshctl.outside.objects_drill import DrillStore
from tests.fakes.memory_store import Died, MemoryStore, MortalStore

STORES: list[Callable[[Path], ObjectStore]] = [DirStore, lambda _: MemoryStore()]


@pytest.fixture(params=STORES, ids=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    made: ObjectStore = request.param(tmp_path / "state")
    return made


def test_what_is_written_is_read(store: ObjectStore) -> None:
    generation = store.create("runs/a/000001.json", b"one")

    found = store.read("runs/a/000001.json")

    assert found is not None
    assert (found.data, found.generation) == (b"one", generation)
    assert store.read("runs/a/000002.json") is None
    assert store.read("runs/a") is None


def test_a_key_is_created_once(store: ObjectStore) -> None:
    store.create("k", b"first")

    assert store.create("k", b"second") is None
    assert store.read("k").data == b"first"  # type: ignore[union-attr]


def test_only_the_current_generation_is_replaced(store: ObjectStore) -> None:
    first = store.create("k", b"1") or ""
    second = store.replace("k", b"2", first)

    assert second is not None
    assert store.replace("k", b"3", first) is None
    assert store.replace("other", b"3", first) is None
    assert store.read("k").data == b"2"  # type: ignore[union-attr]


def test_only_the_current_generation_is_deleted(store: ObjectStore) -> None:
    first = store.create("k", b"1") or ""
    second = store.replace("k", b"1", first) or ""

    assert not store.delete("k", first)
    assert store.delete("k", second)
    assert not store.delete("k", second)
    assert store.read("k") is None


def test_a_generation_never_comes_back(store: ObjectStore) -> None:
    seen: set[str] = set()
    for number in range(50):
        generation = store.create("k", b"%d" % number) or ""
        assert generation not in seen
        seen.add(generation)
        store.delete("k", generation)


def test_keys_are_listed_by_their_beginning_and_sorted(store: ObjectStore) -> None:
    for key in ("runs/b/2", "runs/a/1", "runs/ab/1", "locks/x"):
        store.create(key, b"")

    assert store.list("runs/a") == ["runs/a/1", "runs/ab/1"]
    assert store.list("runs/a/") == ["runs/a/1"]
    assert store.list("") == ["locks/x", "runs/a/1", "runs/ab/1", "runs/b/2"]
    assert store.list("nothing/") == []


@pytest.mark.parametrize("key", ["", "/etc/passwd", "a//b", "../a", "a/./b", "a\0b"])
def test_no_key_leads_out_of_the_folder(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError):
        DirStore(tmp_path).read(key)


def test_a_folder_that_cannot_be_used_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = DirStore(tmp_path / "file" / "state")

    with pytest.raises(Unreachable, match="state folder"):
        store.create("k", b"")
    with pytest.raises(Unreachable, match="state folder"):
        store.replace("k", b"", "1")


def test_a_folder_that_cannot_be_listed_is_unreachable_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "loop").symlink_to("loop")
    (tmp_path / "runs" / "file").write_text("")
    store = DirStore(tmp_path)

    for folder in ("runs/loop", "runs/file"):
        with pytest.raises(Unreachable, match="state folder") as refused:
            store.list(f"{folder}/")
        assert refused.value.place == str(tmp_path / folder)


@pytest.mark.skipif(os.getuid() == 0, reason="permission bits do not bind root")
def test_a_folder_that_may_not_be_read_is_unreachable_and_named(tmp_path: Path) -> None:
    store = DirStore(tmp_path)
    store.create("runs/a/1", b"")
    (tmp_path / "runs" / "a").chmod(0)

    with pytest.raises(Unreachable) as refused:
        store.list("runs/")

    (tmp_path / "runs" / "a").chmod(0o700)
    assert refused.value.place == str(tmp_path / "runs" / "a")


WRITE_TWICE = """
import sys
from pathlib import Path
from meshctl.outside.objects import DirStore
store = DirStore(Path(sys.argv[1]))
store.replace("replaced", b"2", store.create("replaced", b"1"))
store.create("created", b"")
"""


@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0o002, 0o664), (0o077, 0o600)])
def test_those_who_share_the_folder_may_do_what_the_umask_lets_them(
    tmp_path: Path, umask: int, mode: int
) -> None:
    subprocess.run([sys.executable, "-c", WRITE_TWICE, str(tmp_path)], umask=umask, check=True)

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"replaced": mode, "created": mode, ".guard": mode}


def test_nothing_is_left_beside_what_was_written(tmp_path: Path) -> None:
    store = DirStore(tmp_path)
    generation = store.create("a/k", b"1") or ""
    store.create("a/k", b"2")
    store.replace("a/k", b"3", generation)
    store.replace("a/k", b"4", generation)

    assert [path.name for path in (tmp_path / "a").iterdir()] == ["k"]


def together(count: int, work: Callable[[int], None]) -> None:
    """The same work in many threads that start at once."""
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        work(number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_of_many_that_create_one_wins_and_knows_it(tmp_path: Path) -> None:
    store = DirStore(tmp_path)
    won: list[tuple[int, str]] = []

    def create(number: int) -> None:
        generation = store.create("k", b"%d" % number)
        if generation:
            won.append((number, generation))

    together(8, create)

    found = store.read("k")
    assert found is not None
    assert won == [(int(found.data), found.generation)]


def test_of_many_that_replace_each_generation_is_won_once(tmp_path: Path) -> None:
    store = DirStore(tmp_path)
    store.create("k", b"0")

    def count_up(_: int) -> None:
        done = 0
        while done < 5:
            found = store.read("k")
            assert found is not None
            if store.replace("k", b"%d" % (int(found.data) + 1), found.generation):
                done += 1

    together(4, count_up)

    assert store.read("k").data == b"20"  # type: ignore[union-attr]


def test_the_generation_of_a_create_is_its_own_although_others_write_over_it(
    tmp_path: Path,
) -> None:
    store = DirStore(tmp_path)
    created: list[str] = []
    stop = threading.Event()

    def overwrite() -> None:
        while not stop.is_set():
            found = store.read("k")
            if found and found.data == b"mine":
                store.replace("k", b"theirs", found.generation)

    thread = threading.Thread(target=overwrite)
    thread.start()
    for _ in range(40):
        created.append(store.create("k", b"mine") or "")
        while (found := store.read("k")) is None or found.data != b"theirs":
            pass
        assert found.generation != created[-1]
        store.delete("k", found.generation)
    stop.set()
    thread.join()


COUNT_UP = """
import sys
from pathlib import Path
from meshctl.outside.objects import DirStore
store, done = DirStore(Path(sys.argv[1])), 0
while done < 100:
    found = store.read("k")
    if store.replace("k", b"%d" % (int(found.data) + 1), found.generation):
        done += 1
"""


def test_processes_compare_and_swap_one_at_a_time(tmp_path: Path) -> None:
    DirStore(tmp_path).create("k", b"0")

    racing = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(tmp_path)]) for _ in range(3)]

    assert [process.wait(timeout=60) for process in racing] == [0, 0, 0]
    assert DirStore(tmp_path).read("k").data == b"300"  # type: ignore[union-attr]


WRITE_FOR_EVER = """
import itertools, sys
from pathlib import Path
from meshctl.outside.objects import DirStore
store = DirStore(Path(sys.argv[1]))
print("ready", flush=True)
for number in itertools.count():
    store.create("runs/%06d" % number, b"x" * 200_000)
"""


def test_a_killed_writer_leaves_no_half_object(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        while len(DirStore(tmp_path).list("runs/")) < 5:
            pass
        os.kill(writer.pid, signal.SIGKILL)

    store = DirStore(tmp_path)
    keys = store.list("runs/")
    assert keys == [f"runs/{number:06d}" for number in range(len(keys))]
    assert {len(store.read(key).data) for key in keys} == {200_000}  # type: ignore[union-attr]
    assert store.create(f"runs/{len(keys):06d}", b"") is not None


@pytest.mark.parametrize(("when", "there"), [("before:2", ["a"]), ("after:2", ["a", "b"])])
def test_a_drill_dies_on_its_side_of_the_write(when: str, there: list[str]) -> None:
    inner = MemoryStore()
    store = MortalStore(inner, when)
    store.create("a", b"")

    with pytest.raises(Died):
        store.create("b", b"")
    with pytest.raises(Died):
        store.read("a")

    assert inner.list("") == there


def test_a_drill_really_kills_its_process(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from meshctl.outside.objects import *; "
        "from meshctl.outside.objects_drill import DrillStore; "
        f"DrillStore(DirStore(Path({str(tmp_path)!r})), 'after:1').create('k', b'1')"
    )

    ended = subprocess.run([sys.executable, "-c", code], check=False)

    assert ended.returncode == -signal.SIGKILL
    assert DirStore(tmp_path).read("k") is not None


@pytest.mark.parametrize("when", ["", "before", "before:x", "during:1"])
def test_a_drill_that_nobody_can_read_is_refused(when: str) -> None:
    with pytest.raises(UsageError, match="MESHCTL_DRILL"):
        DrillStore(MemoryStore(), when)
