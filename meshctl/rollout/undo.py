"""Walks back: the steps that were begun, newest first, each by its own undo.

Before anything is touched the service is looked at: what is gone with its service needs no undo,
and a service that a stranger builds on is left alone as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.errors import LockHeld, MeshctlError, Refused
from meshctl.outside.clock import rfc3339
from meshctl.outside.gcp import Conflict
from meshctl.plan.ours import Gone, built_on, gone
from meshctl.plan.steps import Plan, Step
from meshctl.plan.undo import text_of, undo_of
from meshctl.rollout.ending import begun
from meshctl.rollout.hands import Hands
from meshctl.state.journal import Event, EventKind, Journal

STOPPED = "stopped by a second signal"


@dataclass
class WayBack:
    """How far a walk back came. `left` is what was not undone, in words; `later` says that trying
    again may help all by itself, for nobody answered or nobody tried. `gone`: nothing was left."""

    left: list[str] = field(default_factory=list)
    later: bool = False
    gone: Gone | None = None

    def fails(self, what: str, error: Exception) -> None:
        """One thing that was not undone. An answer that says no will say no again."""
        why = error.message if isinstance(error, MeshctlError) else repr(error)
        self.left.append(f"{what}: {why}")
        self.later |= not isinstance(error, Refused) or isinstance(error, Conflict)


def undo(plan: Plan, journal: Journal, hands: Hands, *, only_traffic: bool = False) -> WayBack:
    """Undo what was begun, as far as it is still there and this run's own.

    `only_traffic` takes traffic back and keeps the candidate, as an unclear verdict asks for.
    """
    way = _surveyed(plan, hands)
    for step in begun(plan, journal) if not way.left else ():
        if way.gone:
            _note(journal, hands, "undone", step)
        elif only_traffic and step.kind != "shift":
            _mark_check(step, journal, hands)
        else:
            _undo_one(step, journal, hands, way)
    return way


def _surveyed(plan: Plan, hands: Hands) -> WayBack:
    """The way back before its first step: whether there is one, and whether it is ours."""
    way = WayBack()
    if hands.interrupts.insisted:
        return way  # each step says so for itself
    try:
        seen = hands.target.look(hands.service)
    except Exception as error:
        way.fails("nothing was tried", error)
        return way
    way.gone = gone(plan, seen)
    if way.gone is None and (why := built_on(plan, seen)):
        way.left.append(why)
    return way


def lost(plan: Plan, hands: Hands) -> Gone | None:
    """The same look for who undoes nothing; what cannot be looked at is not gone."""
    return _surveyed(plan, hands).gone


def _undo_one(step: Step, journal: Journal, hands: Hands, way: WayBack) -> None:
    back = undo_of(step.act)
    if back is None:
        return
    what = f"{step.id}: {text_of(back)}"
    if hands.interrupts.insisted:
        way.left.append(f"{what}: {STOPPED}")
        way.later = True
        return
    hands.lock.assure()
    _note(journal, hands, "undoing", step)
    try:
        hands.target.perform(hands.service, back, journal.run, hands.lock.assure)
    except LockHeld:
        raise
    except Exception as error:  # one step that will not be undone must not keep the others back
        way.fails(what, error)
    else:
        _note(journal, hands, "undone", step)


def _mark_check(step: Step, journal: Journal, hands: Hands) -> None:
    """A check after a shift that was taken back has to be asked again on resume."""
    if step.kind == "check":
        _note(journal, hands, "undone", step)


def _note(journal: Journal, hands: Hands, kind: EventKind, step: Step) -> None:
    journal.append(Event(at=rfc3339(hands.clock.now()), kind=kind, step=step.id))
