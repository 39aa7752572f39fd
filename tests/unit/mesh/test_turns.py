"""The shell of a lane starts, stops and hands out engines as the lane says, and forgets nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from meshctl.errors import Unreachable
from meshctl.mesh.lane import Rules
from meshctl.mesh.launch import Launch, launch_of
from meshctl.mesh.log import Log
from meshctl.mesh.supervisor import Supervisor
from meshctl.mesh.waiting import QueueFull, Waiting
from meshctl.spec.registry import ModelEntry

RULES = Rules(queue=2, min_residency_s=0.0)
LIMIT_S = 5.0


class FakeCard:
    """Runs engines that load and end at once; `held` ones load only when their event is set."""

    def __init__(self, *held: str) -> None:
        self.story: list[str] = []
        self.gates = {model: asyncio.Event() for model in held}
        self.ends: dict[str, asyncio.Future[str]] = {}

    async def __call__(self, launch: Launch) -> FakeOne:
        self.story.append(f"start {launch.model}")
        try:
            if gate := self.gates.get(launch.model):
                await gate.wait()
        except asyncio.CancelledError:
            self.story.append(f"give up {launch.model}")
            raise
        self.ends[launch.model] = asyncio.get_running_loop().create_future()
        return FakeOne(launch.model, self)


class FakeOne:
    """One engine on the card."""

    def __init__(self, model: str, card: FakeCard) -> None:
        self.url = f"http://{model}"
        self._model, self._card = model, card

    async def ended(self) -> str:
        return await self._card.ends[self._model]

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self._card.story.append(f"gone {self._model}")


def supervised(
    act: Callable[[Supervisor, FakeCard], Awaitable[None]],
    *models: ModelEntry,
    held: tuple[str, ...] = (),
    check: Callable[[Launch], None] = lambda _: None,
) -> list[str]:
    async def run() -> list[str]:
        card = FakeCard(*held)
        launches = [launch_of(entry, Path()) for entry in models]
        supervisor = Supervisor(launches, card, Log("error"), RULES, check)
        async with asyncio.timeout(LIMIT_S):
            try:
                await act(supervisor, card)
            finally:
                await supervisor.stop()
        return card.story

    return asyncio.run(run())


def model(name: str, **more: Any) -> ModelEntry:
    return ModelEntry(id=name, command=("engine",), **more)


async def settled() -> None:
    """Everything that could happen has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


def nobody(_: Waiting) -> None:
    """Hears nothing."""


def test_one_engine_is_gone_before_the_next_starts() -> None:
    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        for name in "aba":
            assert (await supervisor.ready(name)).url == f"http://{name}"
        assert [supervisor.resident(name) for name in "ab"] == [True, False]

    story = supervised(act, model("a"), model("b"))

    assert story == ["start a", "gone a", "start b", "gone b", "start a", "gone a"]


def test_a_turn_is_kept_until_its_context_is_left() -> None:
    async def act(supervisor: Supervisor, card: FakeCard) -> None:
        async with supervisor.turn("a", nobody):
            other = asyncio.create_task(supervisor.ready("b"))
            await settled()
            assert card.story == ["start a"]
        await other

    supervised(act, model("a"), model("b"))


def test_a_load_whose_client_left_at_once_leaves_nothing_behind() -> None:
    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        first = asyncio.create_task(supervisor.ready("a"))
        await asyncio.sleep(0)
        first.cancel()
        assert (await supervisor.ready("b")).url == "http://b"

    story = supervised(act, model("a"), model("b"), held=("a",))

    assert story[-2:] == ["start b", "gone b"]


def test_a_client_that_leaves_the_queue_makes_room_in_it() -> None:
    async def act(supervisor: Supervisor, card: FakeCard) -> None:
        waiting = [asyncio.create_task(supervisor.ready("a")) for _ in range(2)]
        await settled()
        with pytest.raises(QueueFull) as full:
            await supervisor.ready("a")
        assert full.value.retry_after_s >= 1
        waiting[0].cancel()
        await settled()
        last = asyncio.create_task(supervisor.ready("a"))
        await settled()
        card.gates["a"].set()
        assert (await last).url == (await waiting[1]).url

    supervised(act, model("a"), held=("a",))


def test_a_request_hears_where_it_stands_before_it_waits_and_nothing_when_it_need_not() -> None:
    heard: list[Waiting] = []

    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        async with supervisor.turn("a", heard.append):
            assert heard == [Waiting("loading", 0)]
        async with supervisor.turn("a", heard.append):
            assert len(heard) == 1

    supervised(act, model("a"))


def test_no_engine_is_unloaded_for_one_that_cannot_be_started() -> None:
    def check(launch: Launch) -> None:
        if launch.model == "b":
            raise Unreachable("there is no payload", place="b")

    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        await supervisor.ready("a")
        with pytest.raises(Unreachable, match="there is no payload"):
            await supervisor.ready("b")
        assert supervisor.resident("a")

    supervised(act, model("a"), model("b"), check=check)


def test_groups_do_not_wait_for_each_other() -> None:
    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        async with supervisor.turn("a", nobody), supervisor.turn("b", nobody) as other:
            assert other.url == "http://b"

    supervised(act, model("a"), model("b", group="second"))


def test_pinned_models_are_loaded_without_a_request() -> None:
    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        await supervisor.ready("a")
        supervisor.begin_pinned()
        await settled()
        assert [supervisor.resident(name) for name in "apb"] == [True, True, False]

    supervised(act, model("a"), model("b"), model("p", pinned=True))


def test_after_a_crash_the_turn_is_kept_and_the_new_engine_is_named() -> None:
    async def act(supervisor: Supervisor, card: FakeCard) -> None:
        async with supervisor.turn("a", nobody) as engine:
            other = asyncio.create_task(supervisor.ready("b"))
            card.ends["a"].set_result("it crashed")
            await settled()
            again = supervisor.engine("a")
            assert again and again is not engine
            assert not other.done()
        await other

    story = supervised(act, model("a"), model("b"))

    assert story[:3] == ["start a", "gone a", "start a"]


def test_who_waits_when_the_mesh_stops_is_told() -> None:
    async def act(supervisor: Supervisor, _: FakeCard) -> None:
        waiting = asyncio.create_task(supervisor.ready("a"))
        await settled()
        await supervisor.stop()
        with pytest.raises(Unreachable, match="the mesh is stopping"):
            await waiting

    assert supervised(act, model("a"), held=("a",)) == ["start a", "give up a"]
