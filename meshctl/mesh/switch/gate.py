"""The gate before the backends: which request goes to whom, and which are held until it opens.
Pure.
"""

from __future__ import annotations

from meshctl.mesh.faults import Fault, queue_full, unknown_model
from meshctl.mesh.switch.events import Effect, Grant, Held, Refuse
from meshctl.spec.switch import Backend

RETRY_S = 2
"""When to ask again: a switch that was going to work has worked by then."""


class Gate:
    """One backend is active, or none; a closed gate lets nobody pass, and never stays so for
    longer than `until`. At most `most` requests are held."""

    def __init__(self, active: Backend | None, most: int) -> None:
        self.active = active
        self.until: float | None = None
        self.since = 0.0
        self._most = most
        self._waiting: dict[int, str] = {}
        self._serving: dict[int, str] = {}

    @property
    def closed(self) -> bool:
        """Requests are held."""
        return self.until is not None

    @property
    def held(self) -> int:
        """So many are."""
        return len(self._waiting)

    def in_flight(self, backend: str | None) -> int:
        """Requests that the backend answers now."""
        return sum(name == backend for name in self._serving.values())

    def ask(self, request: int, model: str) -> Effect:
        """A request comes."""
        if not self.closed:
            return self._place(request, model)
        if len(self._waiting) >= self._most:
            return Refuse(request, queue_full(model, RETRY_S))
        self._waiting[request] = model
        return Held(request)

    def leave(self, request: int) -> None:
        """A request is over; one that was refused is known no more."""
        self._waiting.pop(request, None)
        self._serving.pop(request, None)

    def close(self, at: float, until: float) -> None:
        """Holds what comes from now on."""
        self.since = at if self.until is None else self.since
        self.until = until

    def open(self) -> list[Effect]:
        """Lets everybody pass to the active backend, in the order in which they came."""
        self.until = None
        waiting, self._waiting = self._waiting, {}
        return [self._place(request, model) for request, model in waiting.items()]

    def give_up(self, at: float) -> list[Effect]:
        """Tells those that are held that it took too long, and opens."""
        self.until = None
        waiting, self._waiting = self._waiting, {}
        fault = _held_too_long(at - self.since)
        return [Refuse(request, fault) for request in waiting]

    def _place(self, request: int, model: str) -> Effect:
        if self.active is None:
            return Refuse(request, NOBODY)
        if model not in self.active.models:
            return Refuse(request, unknown_model(model))
        self._serving[request] = self.active.name
        return Grant(request, self.active)


NOBODY = Fault(503, "no backend is active", "no_backend", retry_after_s=RETRY_S)


def _held_too_long(seconds: float) -> Fault:
    message = f"no backend took over within {seconds:.1f} s, and requests are held no longer"
    return Fault(503, message, "held_too_long", retry_after_s=RETRY_S)
