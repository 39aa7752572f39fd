"""Callers that wait until a backend answers nobody any more. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.mesh.switch.events import Effect, Reply
from meshctl.mesh.switch.gate import Gate
from meshctl.spec.switch import Drained


@dataclass(frozen=True)
class Draining:
    """One of them."""

    caller: int
    name: str
    until: float


class Drains:
    """All of them; each hears once, when its backend is free or its time is over."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._open: list[Draining] = []

    @property
    def due(self) -> float | None:
        """When the next one's time is over."""
        return min((drain.until for drain in self._open), default=None)

    def add(self, drain: Draining) -> None:
        """One more; `over` answers it, at once where nobody has to be waited for."""
        self._open.append(drain)

    def over(self, at: float) -> list[Effect]:
        """The answers that are due."""
        left = {drain: self._gate.in_flight(drain.name) for drain in self._open}
        over = [drain for drain in self._open if not left[drain] or at >= drain.until]
        self._open = [drain for drain in self._open if drain not in over]
        return [
            Reply(each.caller, Drained(backend=each.name, drained=not count, in_flight=count))
            for each in over
            for count in (left[each],)
        ]
