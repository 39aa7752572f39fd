"""Carries out what a switch decides: lets requests go, asks backends, keeps the choice, answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from meshctl.mesh.faults import Fault, stopping
from meshctl.mesh.line import Level
from meshctl.mesh.log import Log
from meshctl.mesh.switch.events import (
    Answer,
    Asked,
    Check,
    Checked,
    Denied,
    Effect,
    Event,
    Grant,
    Held,
    Left,
    Refuse,
    Remembered,
    Reply,
    Save,
    Saved,
    SaveEnd,
    StopCheck,
    Tick,
    Wake,
)
from meshctl.mesh.switch.machine import Switch
from meshctl.spec.switch import Backend, Outcome, SwitchState

T = TypeVar("T")
Probe = Callable[[Backend, float], Awaitable[str | None]]
"""Asks until the backend is ready, for so many seconds at most; why it is not, or None."""
Keep = Callable[[Remembered], tuple[SaveEnd, str]]
"""Keeps this for the next start, and says how that went. It may take its time: it gets a thread."""


class Refusal(Exception):
    """A request that no backend answers."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True)
class _Ticket:
    held: Callable[[], None]
    outcome: asyncio.Future[Backend | Fault]


class Switching:
    """The one switch of a mesh; nobody else chooses a backend."""

    def __init__(
        self, kept: Remembered, keep: Keep, probe: Probe, most_held: int, log: Log
    ) -> None:
        self.switch = Switch(kept, most_held)
        """To be read; whatever changes it is an event."""
        self._keep = keep
        self._probe = probe
        self._log = log
        self._numbers = itertools.count(1)
        self._tickets: dict[int, _Ticket] = {}
        self._callers: dict[int, asyncio.Future[Answer]] = {}
        self._checking: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._over = False

    @asynccontextmanager
    async def turn(self, model: str, held: Callable[[], None]) -> AsyncIterator[Backend]:
        """The backend that answers; it counts as busy until the context is left. Raises Refusal.

        `held` is called when the request has to wait; it must not raise.
        """
        request = next(self._numbers)
        ticket = _Ticket(held, asyncio.get_running_loop().create_future())
        self._tickets[request] = ticket
        try:
            self._happened(Asked(_now(), request, model))
            outcome = await ticket.outcome
            if isinstance(outcome, Fault):
                raise Refusal(outcome)
            yield outcome
        finally:
            del self._tickets[request]
            self._happened(Left(_now(), request))

    async def ask(self, wish: Callable[[float, int], Event]) -> Answer:
        """What became of a caller's wish, as soon as it is known. A caller that goes away changes
        nothing."""
        if self._over:
            return _STOPPING
        caller = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._callers[caller] = answer
        try:
            self._happened(wish(_now(), caller))
            return await answer
        finally:
            del self._callers[caller]

    def state(self) -> SwitchState:
        """Everything there is to know now."""
        return self.switch.state(_now())

    async def stop(self) -> None:
        """Tells all who wait that the mesh ends, once the file is not being written any more."""
        self._over = True
        for handle in (self._alarm, self._checking):
            if handle:
                handle.cancel()
        if self._saving:
            await asyncio.wait({self._saving})
        for ticket in self._tickets.values():
            _settle(ticket.outcome, stopping())
        for answer in self._callers.values():
            _settle(answer, _STOPPING)

    def _happened(self, event: Event) -> None:
        if not self._over:
            for effect in self.switch.on(event):
                self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Grant(request, backend):
                _settle(self._tickets[request].outcome, backend)
            case Refuse(request, fault):
                _settle(self._tickets[request].outcome, fault)
            case Held(request):
                self._tickets[request].held()
            case Reply(caller, answer):
                self._reply(caller, answer)
            case Check():
                self._checking = asyncio.create_task(self._check(effect))
            case StopCheck():
                if self._checking:
                    self._checking.cancel()
            case Save(kept):
                self._saving = asyncio.create_task(self._save(kept))
            case Wake(at):
                self._wake_at(at)

    def _reply(self, caller: int, answer: Answer) -> None:
        if isinstance(answer, Outcome):
            level: Level = "info" if answer.outcome == "switched" else "warning"
            said = f"switch {answer.operation} to {answer.to}: {answer.outcome}"
            self._log.say(level, f"{said}; {answer.why}" if answer.why else said)
        if caller in self._callers:
            _settle(self._callers[caller], answer)

    async def _check(self, check: Check) -> None:
        try:
            why = await self._probe(check.backend, check.seconds)
        except Exception as bug:
            why = f"it could not be asked: {bug!r}"
        self._happened(Checked(_now(), check.operation, why is None, why or ""))

    async def _save(self, kept: Remembered) -> None:
        try:
            end, why = await asyncio.to_thread(self._keep, kept)
        except Exception as bug:
            end, why = "failed", repr(bug)
        self._happened(Saved(_now(), end, why))

    def _wake_at(self, at: float | None) -> None:
        """The loop may be a hair early; the switch is told the time that it asked for."""
        if self._alarm:
            self._alarm.cancel()
        self._alarm = None
        if at is not None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_at(at, lambda: self._happened(Tick(max(at, loop.time()))))


_STOPPING = Denied(503, "stopping", "the mesh is stopping; ask the next one what became of it")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _settle(future: asyncio.Future[T], result: T) -> None:
    """Who has just left needs no answer."""
    if not future.done():
        future.set_result(result)
