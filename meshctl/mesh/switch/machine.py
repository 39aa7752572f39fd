"""Decides which backend is active, and takes one in the place of another without an error for
anybody. Pure.

`design.md` holds its law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from meshctl.mesh.switch.drains import Draining, Drains
from meshctl.mesh.switch.events import (
    Add,
    Answer,
    Asked,
    Checked,
    Denied,
    Drain,
    Effect,
    Event,
    Left,
    Order,
    Pause,
    Remembered,
    Remove,
    Reply,
    Resume,
    Save,
    Saved,
    Tick,
    Wake,
)
from meshctl.mesh.switch.gate import Gate
from meshctl.mesh.switch.roster import find, unknown, with_added, with_removed
from meshctl.mesh.switch.run import Run, past_of
from meshctl.spec.switch import (
    Backend,
    Outcome,
    Standing,
    SwitchState,
)

MOST_REMEMBERED = 64
"""Operations whose outcome is still known when they are asked for again."""


@dataclass(frozen=True)
class _Edit:
    """A caller that waits for the list of backends to be kept."""

    caller: int
    kept: Remembered


class Switch:
    """Every backend of one front; `on` is told what happens, and says what has to be done."""

    def __init__(self, kept: Remembered, most_held: int) -> None:
        self._kept = kept
        self._gate = Gate(find(kept, kept.active), most_held)
        self._outcomes = {outcome.operation: outcome for outcome in kept.outcomes}
        self._run: Run | None = None
        self._edit: _Edit | None = None
        self._drains = Drains(self._gate)
        self._due: float | None = None

    @property
    def active(self) -> Backend | None:
        """Who serves."""
        return self._gate.active

    def takes(self, model: str) -> bool:
        """A request for the model is answered by a backend, now or when it was held."""
        if self._gate.closed or self.active is None:
            return any(model in backend.models for backend in self._kept.backends)
        return model in self.active.models

    def backend_of(self, model: str) -> Backend | None:
        """Who would answer for the model, as far as is known now."""
        candidates = (self.active, *self._kept.backends)
        return next((b for b in candidates if b and model in b.models), None)

    @property
    def default_model(self) -> str | None:
        """What is meant by a request that names no model."""
        return self.active.models[0] if self.active else None

    def outcome(self, operation: str) -> Outcome | None:
        """How an operation ended; None while it is under way, or when nobody knows of it."""
        past = self._outcomes.get(operation)
        return past and past_of(past, self._gate)

    def state(self, now: float) -> SwitchState:
        """Everything, at one moment."""
        gate = self._gate
        return SwitchState(
            active=self.active.name if self.active else None,
            held=gate.held,
            paused_for=None if gate.until is None else max(0.0, gate.until - now),
            operation=self._run.order.operation if self._run else None,
            backends=tuple(
                Standing(backend=backend, in_flight=gate.in_flight(backend.name))
                for backend in self._kept.backends
            ),
        )

    def on(self, event: Event) -> list[Effect]:
        """What has to be done, in this order."""
        effects = self._on(event)
        effects += self._drains.over(event.at)
        due = self._next_due()
        if due != self._due:
            self._due = due
            effects.append(Wake(due))
        return effects

    def _on(self, event: Event) -> list[Effect]:
        match event:
            case Asked(_, request, model):
                return [self._gate.ask(request, model)]
            case Left(_, request):
                self._gate.leave(request)
                return self._step(event)
            case Order():
                return self._order(event)
            case Saved() if self._edit:
                return self._edited(self._edit, event)
            case Checked() | Saved():
                return self._step(event)
            case Tick(at):
                return [*self._expired(at), *self._step(event)]
            case Drain(at, caller, name, seconds):
                return self._drain(at, caller, name, seconds)
            case Add() | Remove() | Pause() | Resume():
                return self._command(event)

    # -- a switch

    def _order(self, event: Order) -> list[Effect]:
        order, run = event.order, self._run
        past = self.outcome(order.operation)
        if past:
            return [Reply(event.caller, past if past.to == order.to else _reused(order.operation))]
        if run and run.order.operation == order.operation:
            if run.order != order:
                return [Reply(event.caller, _reused(order.operation))]
            run.callers.append(event.caller)
            return []
        to = find(self._kept, order.to)
        denied = self._busy()
        if denied or to is None:
            return [Reply(event.caller, denied or unknown(order.to))]
        self._run = Run(order, to, event, self._gate, self._kept)
        return self._followed(self._run.begin(event.at))

    def _step(self, event: Left | Checked | Saved | Tick) -> list[Effect]:
        return self._followed(self._run.on(event)) if self._run else []

    def _followed(self, effects: list[Effect]) -> list[Effect]:
        """What the switch that is under way wants; its end is told to all who asked for it."""
        run = self._run
        assert run
        self._kept = run.kept
        outcome = run.outcome()
        if outcome is None:
            return effects
        self._run = None
        self._remember(outcome)
        return [*effects, *(Reply(caller, outcome) for caller in run.callers)]

    def _remember(self, outcome: Outcome) -> None:
        """What was saved in good hope is put right; the next Save carries that, too."""
        self._outcomes[outcome.operation] = outcome
        while len(self._outcomes) > MOST_REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]
        told = tuple(self._outcomes.get(o.operation, o) for o in self._kept.outcomes)
        self._kept = replace(self._kept, outcomes=told)

    # -- the list of backends, and the gate by hand

    def _command(self, event: Add | Remove | Pause | Resume) -> list[Effect]:
        if isinstance(event, Resume) and not self._gate.closed:
            return [Reply(event.caller, self.state(event.at))]
        denied = self._busy()
        if denied:
            return [Reply(event.caller, denied)]
        match event:
            case Pause(at, caller, seconds):
                self._gate.close(at, at + seconds)
                return [Reply(caller, self.state(at))]
            case Resume(at, caller):
                effects = self._gate.open()
                return [*effects, Reply(caller, self.state(at))]
            case Add(at, caller, backend):
                return self._change(at, caller, with_added(self._kept, self._gate, backend))
            case Remove(at, caller, name):
                return self._change(at, caller, with_removed(self._kept, self._gate, name))

    def _change(self, at: float, caller: int, wanted: Remembered | Denied) -> list[Effect]:
        """Another list of backends, once it is kept."""
        if isinstance(wanted, Denied):
            return [Reply(caller, wanted)]
        if wanted == self._kept:
            return [Reply(caller, self.state(at))]
        self._edit = _Edit(caller, wanted)
        return [Save(wanted)]

    def _edited(self, edit: _Edit, event: Saved) -> list[Effect]:
        self._edit = None
        if event.end == "failed":
            return [Reply(edit.caller, Denied(500, "not_saved", f"not kept: {event.why}"))]
        self._kept = edit.kept
        answer: Answer = self.state(event.at)
        if event.end == "doubtful":
            why = f"done, and perhaps not kept over a loss of power: {event.why}"
            answer = Denied(500, "doubtful", why)
        return [Reply(edit.caller, answer)]

    # -- time

    def _drain(self, at: float, caller: int, name: str | None, seconds: float) -> list[Effect]:
        name = name or (self.active.name if self.active else None)
        if name is None or find(self._kept, name) is None:
            return [Reply(caller, unknown(name) if name else _NONE_ACTIVE)]
        self._drains.add(Draining(caller, name, at + seconds))
        return []

    def _expired(self, at: float) -> list[Effect]:
        """Nobody is held for longer than was allowed; who was active goes on."""
        until = self._gate.until
        if until is None or at < until:
            return []
        refused = self._gate.give_up(at)
        if not self._run:
            return refused
        return [*refused, *self._followed(self._run.gave_up(at, len(refused)))]

    def _next_due(self) -> float | None:
        dues = (self._gate.until, self._run.due if self._run else None, self._drains.due)
        return min((due for due in dues if due is not None), default=None)

    def _busy(self) -> Denied | None:
        """One change at a time: what is found must still be so when it is changed."""
        if self._run:
            order = self._run.order
            return Denied(409, "busy", f"switch {order.operation} to {order.to} is under way")
        return Denied(409, "busy", "the list of backends is being changed") if self._edit else None


_NONE_ACTIVE = Denied(404, "no_backend", "no backend is active, so none can be drained")


def _reused(operation: str) -> Denied:
    why = f"operation {operation} was another order; give this one an id of its own"
    return Denied(409, "operation_reused", why)
