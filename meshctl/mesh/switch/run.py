"""One switch on its way: check, hold, save, let go, drain. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from meshctl.mesh.switch.events import (
    Check,
    Checked,
    Effect,
    Grant,
    Left,
    Order,
    Remembered,
    Save,
    Saved,
    StopCheck,
    Tick,
)
from meshctl.mesh.switch.gate import Gate
from meshctl.spec.switch import Backend, End, Outcome, Step, StepEnd, SwitchOrder

MOST_KEPT = 16
"""Switches whose outcome outlives the mesh."""


def past_of(outcome: Outcome, gate: Gate) -> Outcome:
    """An outcome of before, with who serves by now and what the old one still answers."""
    active = gate.active.name if gate.active else None
    left = gate.in_flight(outcome.was) if outcome.was != active else 0
    return outcome.model_copy(update={"active": active, "in_flight": left})


class Run:
    """The switch that is under way; nothing else changes meanwhile. `kept` is what is saved."""

    def __init__(
        self, order: SwitchOrder, to: Backend, event: Order, gate: Gate, kept: Remembered
    ) -> None:
        self.order = order
        self.callers = [event.caller]
        self.kept = kept
        self._to = to
        self._gate = gate
        self._was = kept.active
        self._phase: Literal["check", "save", "drain"] = "check"
        self._since = event.at
        self._closed = False
        self._overheld = False
        self._steps: list[Step] = []
        self._held = 0
        self._let_down = 0
        self._end: End | None = None
        self._why = ""
        self._over = False
        self._saving = kept

    @property
    def due(self) -> float | None:
        """When it wants to be told the time: the end of a drain."""
        return self._since + self.order.drain_at_most if self._phase == "drain" else None

    def begin(self, at: float) -> list[Effect]:
        """The first step. A pause that somebody made lasts no longer than this may hold."""
        if self._gate.until is not None:
            self._gate.close(at, min(self._gate.until, at + self.order.hold_at_most))
        if self.order.check:
            return [Check(self.order.operation, self._to, self.order.check_at_most)]
        self._note("check", "skipped", at, "not asked for")
        return self._hold(at)

    def on(self, event: Left | Checked | Saved | Tick) -> list[Effect]:
        """The next step, where this was waited for."""
        match event, self._phase:
            case Checked(operation=self.order.operation), "check":
                return self._checked(event)
            case Saved(), "save":
                return self._saved(event)
            case ((Left() | Tick()), "drain"):
                self._look(event.at)
        return []

    def gave_up(self, at: float, let_down: int) -> list[Effect]:
        """The gate was closed for too long, and has been opened for who was active."""
        self._let_down += let_down
        self._overheld = True
        if self._phase != "check":
            return []
        self._note("check", "unfinished", at, "requests were held for too long")
        self._finish("restored", f"{self.order.to} was not ready before requests had to go on")
        return [StopCheck()]

    def outcome(self) -> Outcome | None:
        """How it ended; None before that."""
        return self._told(self._end, self._steps) if self._over and self._end else None

    def _checked(self, event: Checked) -> list[Effect]:
        if not event.ready:
            self._note("check", "failed", event.at, event.why)
            self._finish("refused", f"{self.order.to} is not ready: {event.why}")
            return []
        self._note("check", "done", event.at)
        return self._hold(event.at)

    def _hold(self, at: float) -> list[Effect]:
        """From here until the choice is kept nobody may be answered by either."""
        if not self._gate.closed:
            self._gate.close(at, at + self.order.hold_at_most)
            self._closed = True
        self._phase, self._since = "save", at
        hope = self._told("switched", [*self._steps, _step("save", "done", 0.0, ""), _UNSEEN])
        outcomes = (*self.kept.outcomes, hope.model_copy(update={"active": self.order.to}))
        self._saving = replace(self.kept, active=self.order.to, outcomes=outcomes[-MOST_KEPT:])
        return [Save(self._saving)]

    def _saved(self, event: Saved) -> list[Effect]:
        if event.end == "failed":
            self._note("save", "failed", event.at, event.why)
            self._finish("restored" if self._closed else "refused", f"not kept: {event.why}")
            return self._go_on() if self._closed else []
        self._note("save", "done" if event.end == "saved" else "failed", event.at, event.why)
        self._steps.append(self._hold_step(event.at))
        self.kept, self._gate.active = self._saving, self._to
        effects = self._go_on()
        self._end, self._why = ("switched", "") if event.end == "saved" else _doubt(event.why)
        self._phase, self._since = "drain", event.at
        self._look(event.at)
        return effects

    def _hold_step(self, at: float) -> Step:
        """For how long requests were held, a pause before the switch included."""
        if self._overheld:
            return _step("hold", "failed", at - self._since, "some were held for too long")
        return _step("hold", "done", at - self._gate.since, "")

    def _go_on(self) -> list[Effect]:
        effects = self._gate.open()
        granted = sum(isinstance(effect, Grant) for effect in effects)
        self._held += granted
        self._let_down += len(effects) - granted
        return effects

    def _look(self, at: float) -> None:
        """Whether the old one is free of requests by now."""
        left = self._left()
        if self._was in (None, self.order.to):
            self._note("drain", "skipped", at, "nobody else served")
        elif not left:
            self._note("drain", "done", at)
        elif at >= self._since + self.order.drain_at_most:
            self._note("drain", "unfinished", at, f"{self._was} still answers {left}")
        else:
            return
        self._over = True

    def _left(self) -> int:
        return self._gate.in_flight(self._was) if self._was != self.order.to else 0

    def _finish(self, end: End, why: str) -> None:
        self._end, self._why, self._over = end, why, True

    def _note(self, name: Literal["check", "save", "drain"], end: StepEnd, at: float,
              why: str = "") -> None:  # fmt: skip
        self._steps.append(_step(name, end, at - self._since, why))

    def _told(self, end: End, steps: list[Step]) -> Outcome:
        return Outcome(
            operation=self.order.operation,
            to=self.order.to,
            outcome=end,
            why=self._why,
            active=self._gate.active.name if self._gate.active else None,
            was=self._was,
            held=self._held,
            let_down=self._let_down,
            in_flight=self._left(),
            steps=tuple(steps),
        )


def _step(name: Literal["check", "hold", "save", "drain"], end: StepEnd, seconds: float,
          why: str) -> Step:  # fmt: skip
    return Step(name=name, result=end, seconds=round(seconds, 6), why=why)


_UNSEEN = _step("drain", "unfinished", 0.0, "the mesh ended before it was seen")


def _doubt(why: str) -> tuple[End, str]:
    return "unknown", f"a loss of power now might bring the old one back: {why}"
