"""The run that nobody ended: found, taken over, or fenced off."""

from __future__ import annotations

import contextlib
from typing import Any

from meshctl.errors import Refused
from meshctl.outside.clock import rfc3339
from meshctl.plan.acts import numbered
from meshctl.plan.steps import Plan
from meshctl.plan.undo import undo_of, undo_text
from meshctl.rollout.ending import Ending, begun
from meshctl.rollout.ground import Ground
from meshctl.rollout.place import same_place
from meshctl.state.journal import Event, EventKind, Fenced, Journal, damaged, read_journal


def unfinished(ground: Ground) -> tuple[Journal, Plan]:
    """The journal and plan of the run that nobody ended. Raises Refused when there is none, or
    when it was begun in another place."""
    ledger = ground.ledger()
    found = ledger.unfinished
    if ledger.damaged:
        run = ledger.damaged.run
        raise damaged(f"run {run} cannot be read, so how far it got is unknown", f"runs/{run}")
    if found is None:
        raise Refused(
            f"{ground.key} has no unfinished run",
            hint=f"see `meshctl status {ground.key}` and `meshctl history {ground.key}`",
        )
    journal = read_journal(ground.store, found.run, ground.follow)
    same_place(journal, ground)
    ground.follow(journal.events[0])
    return journal, Plan.model_validate(journal.events[0].data["plan"])


def fence(ground: Ground, by: str) -> bool:
    """Mark unfinished runs of the service as taken over; their processes can append no more.
    Whether there were any."""
    fenced = False
    while (found := ground.ledger().unfinished) is not None:
        journal = read_journal(ground.store, found.run, ground.follow)
        data = {"by": by, "who": str(ground.who), "reason": ground.reason}
        with contextlib.suppress(Fenced):  # it wrote one more event before it noticed; look again
            journal.append(_event(ground, "fenced", data))
        fenced = True
    return fenced


def take_over(ground: Ground) -> tuple[Journal, Plan]:
    """Append that the run failed by our will: its process can append no more, and whoever resumes
    it goes on with the way back."""
    while True:
        journal, plan = unfinished(ground)
        why = f"aborted by {ground.who}" + (f": {ground.reason}" if ground.reason else "")
        ending = Ending(how="aborted", why=why)
        try:
            journal.append(_event(ground, "failed", ending.record()))
        except Fenced:  # it wrote one more event before it noticed; look again
            continue
        return journal, plan


def back_from(journal: Journal, plan: Plan) -> Plan:
    """What an abort will do, as a plan to look at: the undo of what was begun, newest first."""
    acts = [(undo_text(step.act), undo_of(step.act)) for step in begun(plan, journal)]
    steps = numbered([(text, act) for text, act in acts if act is not None])
    shown = tuple(step.model_copy(update={"undo": ""}) for step in steps)
    return plan.model_copy(update={"verb": "abort", "steps": shown, "changes": (), "notes": ()})


def _event(ground: Ground, kind: EventKind, data: dict[str, Any]) -> Event:
    return Event(at=rfc3339(ground.clock.now()), kind=kind, data=data)
