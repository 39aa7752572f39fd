"""Carries out what the lane of one group decides: gives turns, starts and stops its engines."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from meshctl.errors import Unreachable
from meshctl.mesh.events import (
    Asked,
    Effect,
    Ended,
    Event,
    Gone,
    Grant,
    Keep,
    Left,
    Loaded,
    RefuseDown,
    RefuseFull,
    Start,
    Stop,
    Tell,
    Tick,
    Unload,
    Wake,
    Wanted,
)
from meshctl.mesh.lane import Lane, Rules
from meshctl.mesh.launch import Launch
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.stopwatch import Stopwatch
from meshctl.mesh.waiting import QueueFull, Stays, Told

SHUTDOWN_S = 1.5
"""For the engines when the mesh ends: with the 8 s of draining it stays below Cloud Run's 10 s."""


class Running(Protocol):
    """An engine that is ready."""

    @property
    def url(self) -> str:
        """Where it listens."""

    async def ended(self) -> str:
        """Waits for its unrequested end, and says how it came."""

    async def stop(self) -> None:
        """Ends it, and returns when nothing is left; at once when it is cancelled meanwhile."""


LaunchEngine = Callable[[Launch], Awaitable[Running]]
"""Starts an engine and returns it ready; raises Unreachable, or what the system raised, when it
fails, and leaves nothing behind then or when it is cancelled."""


Check = Callable[[Launch], None]
"""Raises Unreachable for an engine that cannot be started, so that none is unloaded for it."""


@dataclass(frozen=True)
class Ticket:
    """A request: what it asked for, who hears of it, and what it gets."""

    model: str
    told: Told
    outcome: asyncio.Future[Running | Unreachable]


class Turns:
    """The engines of one group, and the requests for them."""

    def __init__(
        self,
        launches: Iterable[Launch],
        launch_engine: LaunchEngine,
        log: Log,
        rules: Rules,
        check: Check,
        metrics: Metrics,
    ) -> None:
        self._launches = {launch.model: launch for launch in launches}
        self._lane = Lane((launch.member for launch in self._launches.values()), rules)
        self._launch_engine = launch_engine
        self._check = check
        self._log = log
        self._metrics = metrics
        self._stopwatch = Stopwatch(metrics)
        self._numbers = itertools.count(1)
        self._tickets: dict[int, Ticket] = {}
        self._engines: dict[str, Running] = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._down: dict[str, Unreachable] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._over = False

    @asynccontextmanager
    async def turn(self, model: str, told: Told) -> AsyncIterator[Running]:
        """The engine, for as long as the context is not left; see Supervisor.turn."""
        if self._lane.seats[model].phase == "empty":
            self._check(self._launches[model])
        request = next(self._numbers)
        ticket = Ticket(model, told, asyncio.get_running_loop().create_future())
        self._tickets[request] = ticket
        try:
            self._happened(Asked(_now(), request, model))
            outcome = await ticket.outcome
            if isinstance(outcome, Unreachable):
                raise outcome
            yield outcome
        finally:
            del self._tickets[request]
            self._happened(Left(_now(), request))

    def want(self, model: str) -> None:
        """Loads the model, if nothing has to go for it."""
        self._happened(Wanted(_now(), model))

    async def unload(self, model: str) -> Stays | None:
        """Ends the engine, and returns when nothing is left of it; says why, if it stays."""
        effects = self._happened(Unload(_now(), model))
        stays = next((effect.why for effect in effects if isinstance(effect, Keep)), None)
        if stays is None and (life := self._lives.get(model)):
            await asyncio.wait({life})
        return stays

    def engine(self, model: str) -> Running | None:
        """The engine, when it is ready and nobody has asked it to go."""
        return self._engines.get(model) if self._lane.seats[model].phase == "ready" else None

    def returns(self, model: str) -> bool:
        """The first restart after a crash is under way, or will be at once."""
        seat = self._lane.seats[model]
        return seat.phase != "ready" and seat.wanted and seat.crashes <= 1

    def down(self, model: str) -> str | None:
        """Why a request for the model would be refused."""
        return self._lane.seats[model].refuses(_now())

    async def stop(self) -> None:
        """Ends every engine at the same time, the slow ones by force; whoever waits is told."""
        self._over = True
        if self._alarm:
            self._alarm.cancel()
        for ticket in self._tickets.values():
            _settle(ticket, Unreachable("the mesh is stopping", place=ticket.model))
        lives = set(self._lives.values())
        for patience_s in (SHUTDOWN_S, None):
            for life in lives:
                life.cancel()
            if lives:
                _, lives = await asyncio.wait(lives, timeout=patience_s)

    def _happened(self, event: Event) -> list[Effect]:
        effects = [] if self._over else self._lane.on(event)
        for effect in effects:
            self._do(effect)
        return effects

    def _do(self, effect: Effect) -> None:
        match effect:
            case Grant(request):
                ticket = self._tickets[request]
                _settle(ticket, self._engines[ticket.model])
            case RefuseDown(request, why):
                _settle(self._tickets[request], self._refusal(self._tickets[request].model, why))
            case RefuseFull(request, retry_after_s):
                ticket = self._tickets[request]
                _settle(ticket, QueueFull(ticket.model, retry_after_s))
            case Tell(request, waiting):
                self._tickets[request].told(waiting)
            case Start(model):
                self._stopwatch.starts(model, _now())
                self._begin(self._launches[model])
            case Stop(model, for_model):
                self._make_way(model, for_model)
            case Wake(at):
                self._wake_at(at)

    def _make_way(self, model: str, for_model: str | None) -> None:
        why = f" for {for_model}" if for_model else ""
        self._log.say("info", f"the engine of {model} is unloaded{why}")
        if for_model:
            self._stopwatch.makes_way(for_model, _now())
        self._lives[model].cancel()

    def _wake_at(self, at: float) -> None:
        """The loop may be a hair early; the lane is told the time that it asked for."""
        if self._alarm:
            self._alarm.cancel()
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_at(at, lambda: self._happened(Tick(max(at, loop.time()))))

    def _refusal(self, model: str, why: str) -> Unreachable:
        known = self._down.get(model)
        return Unreachable(why, hint=known.hint if known else "", place=model)

    def _begin(self, launch: Launch) -> None:
        life = asyncio.create_task(self._live(launch))
        # Also of a life that was ended before its first step, which runs no code of its own.
        life.add_done_callback(lambda _: self._gone(launch.model))
        self._lives[launch.model] = life

    def _gone(self, model: str) -> None:
        self._happened(Gone(_now(), model))
        if all(seat.phase != "ending" for seat in self._lane.seats.values()):
            self._stopwatch.nobody_came()

    async def _live(self, launch: Launch) -> None:
        """One life of an engine, from its start until nothing is left of it."""
        model = launch.model
        try:
            await self._serve(launch)
        except Unreachable as failed:
            self._ended(model, failed)
        except Exception as failed:  # no descriptor left, a payload that may not be read, a bug
            why = f"the engine of {model} failed: {failed!r}"
            self._ended(model, Unreachable(why, place=model))

    async def _serve(self, launch: Launch) -> None:
        model = launch.model
        engine = await self._launch_engine(launch)
        try:
            self._engines[model] = engine
            self._log.say("info", f"the engine of {model} is ready at {engine.url}")
            self._stopwatch.is_ready(model, _now())
            self._happened(Loaded(_now(), model))
            # Known before the rest of it is stopped: who asks meanwhile is told why.
            self._ended(model, Unreachable(await engine.ended(), place=model))
        finally:
            del self._engines[model]
            await engine.stop()

    def _ended(self, model: str, why: Unreachable) -> None:
        self._down[model] = why
        self._metrics.failed(model)
        self._happened(Ended(_now(), model, why.message))
        pause_s = max(0.0, self._lane.seats[model].retry_at - _now())
        rest = f"; not started again for {pause_s:.0f} s" if pause_s >= 0.5 else ""
        self._log.say("error", f"{why.message}{rest}")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _settle(ticket: Ticket, outcome: Running | Unreachable) -> None:
    """A client that has just left needs no answer."""
    if not ticket.outcome.done():
        ticket.outcome.set_result(outcome)
