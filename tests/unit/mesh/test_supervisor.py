"""A seat starts its engine once, starts it again after a crash, and always stops it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from meshctl.errors import Unreachable
from meshctl.mesh.launch import Launch, launch_of
from meshctl.mesh.log import Log
from meshctl.mesh.seat import pause_s
from meshctl.mesh.supervisor import Supervisor
from meshctl.spec.registry import ModelEntry

LAUNCH = launch_of(ModelEntry(id="m", command=("engine",)), Path())


class FakeEngine:
    """An engine that ends when it is told to."""

    def __init__(self, number: int) -> None:
        self.url = f"http://engine-{number}"
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.stopped = False
        self.may_stop = asyncio.Event()
        self.may_stop.set()

    async def ended(self) -> str:
        return await self.end

    async def stop(self) -> None:
        await self.may_stop.wait()
        self.stopped = True


class FakeStarts:
    """Counts the starts; the first ones fail, one with each of `errors`; all wait for `gate`."""

    def __init__(self, *errors: Exception) -> None:
        self.engines: list[FakeEngine] = []
        self.tries = 0
        self.errors = errors
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, _: Launch) -> FakeEngine:
        self.tries += 1
        await self.gate.wait()
        if self.tries <= len(self.errors):
            raise self.errors[self.tries - 1]
        self.engines.append(FakeEngine(self.tries))
        return self.engines[-1]


def supervised(
    act: Callable[[Supervisor, FakeStarts], Awaitable[None]], *errors: Exception
) -> FakeStarts:
    async def run() -> FakeStarts:
        starts = FakeStarts(*errors)
        supervisor = Supervisor([LAUNCH], starts, Log("error"))
        try:
            await act(supervisor, starts)
        finally:
            await supervisor.stop()
        return starts

    return asyncio.run(run())


def test_many_first_requests_start_one_engine() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        starts.gate.clear()
        asked = [asyncio.create_task(supervisor.ready("m")) for _ in range(5)]
        await asyncio.sleep(0)
        starts.gate.set()
        assert {engine.url for engine in await asyncio.gather(*asked)} == {"http://engine-1"}

    starts = supervised(act)

    assert starts.tries == 1
    assert starts.engines[0].stopped


def test_while_an_engine_comes_back_requests_are_told_why_at_once() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        await supervisor.ready("m")
        starts.gate.clear()
        starts.engines[0].end.set_result("it exited with code 0")
        await asyncio.sleep(0.01)
        with pytest.raises(Unreachable, match="it exited with code 0"):
            await supervisor.ready("m")
        assert supervisor.down("m") == "it exited with code 0"
        starts.gate.set()
        await asyncio.sleep(0.01)
        assert (await supervisor.ready("m")).url == "http://engine-2"
        assert supervisor.down("m") is None

    starts = supervised(act)

    assert [engine.stopped for engine in starts.engines] == [True, True]


def test_while_the_rest_of_a_crashed_engine_is_stopped_requests_are_told_why() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        await supervisor.ready("m")
        engine = starts.engines[0]
        engine.may_stop.clear()
        engine.end.set_result("it exited with code 0")
        await asyncio.sleep(0.01)
        with pytest.raises(Unreachable, match="it exited with code 0"):
            await supervisor.ready("m")
        engine.may_stop.set()

    supervised(act)


def test_a_failed_first_start_is_told_and_tried_again_by_itself() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        with pytest.raises(Unreachable, match="m will not start"):
            await supervisor.ready("m")
        await asyncio.sleep(0.01)
        assert (await supervisor.ready("m")).url == "http://engine-2"

    assert supervised(act, Unreachable("m will not start")).tries == 2


def test_a_start_that_fails_in_an_unforeseen_way_is_told_and_tried_again() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        async with asyncio.timeout(5):
            with pytest.raises(Unreachable, match=r"engine of m failed: .*Too many open files"):
                await supervisor.ready("m")
        await asyncio.sleep(0.01)
        assert (await supervisor.ready("m")).url == "http://engine-2"

    assert supervised(act, OSError(errno.EMFILE, "Too many open files")).tries == 2


def test_an_engine_nobody_asked_for_is_never_started() -> None:
    async def act(supervisor: Supervisor, starts: FakeStarts) -> None:
        assert supervisor.down("m") is None
        assert not supervisor.resident("m")

    assert supervised(act).tries == 0


def test_pauses_grow_from_none_to_half_a_minute() -> None:
    assert [pause_s(crashes) for crashes in range(1, 9)] == [0, 1, 2, 4, 8, 16, 30, 30]
