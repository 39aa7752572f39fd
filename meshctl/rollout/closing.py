"""What the last event of a run says, for ledgers and for people. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from meshctl.plan import traffic
from meshctl.plan.steps import (
    CreateService,
    PlaceRevision,
    Plan,
    ShiftTraffic,
    StartRevision,
    StopRevision,
)
from meshctl.rollout.ending import Ending, begun
from meshctl.state.journal import Journal
from meshctl.state.ledger import last_verdict


def closing(plan: Plan, journal: Journal, ending: Ending) -> dict[str, Any]:
    """The ending, and what it leaves behind: the split, who serves, and the minimum."""
    return {
        "ending": ending.record(),
        "exit_code": ending.code,
        "verdict": ending.judgement or last_verdict(journal.events),
        "release": plan.to_release,
        "revision": plan.revision,
        "served": came_to_serve(plan, ending),
        "min_instances": plan.min_instances,
        "outage_s": outage_s(plan, journal),
        "traffic": split_left(plan, journal),
        "or_traffic": split_in_doubt(plan, journal),
        **announcing(plan, ending),
    }


def outage_s(plan: Plan, journal: Journal) -> float | None:
    """From the stop of what served to the answer that the new release serves; None where nothing
    was stopped, or nothing answered."""
    stops = {step.id for step in plan.steps if isinstance(step.act, StopRevision)}
    starts = {step.id for step in plan.steps if isinstance(step.act, StartRevision)}
    began = [e.at for e in journal.events if e.kind == "started" and e.step in stops]
    ended = [e.at for e in journal.events if e.kind == "finished" and e.step in starts]
    if not began or not ended:
        return None
    return (datetime.fromisoformat(ended[-1]) - datetime.fromisoformat(began[0])).total_seconds()


def announcing(plan: Plan, ending: Ending) -> dict[str, str]:
    """What is announced from now on, where this run came to change that."""
    if plan.peers is None or ending.how != "done":
        return {}
    return {"peers": plan.peers}


def came_to_serve(plan: Plan, ending: Ending) -> bool:
    """Whether this run gave its release all traffic, and it passed there."""
    gives = any(
        isinstance(step.act, CreateService | StartRevision)
        or (isinstance(step.act, ShiftTraffic) and _is_whole(step.act, plan.revision))
        for step in plan.steps
    )
    return ending.how == "done" and gives


def _is_whole(shift: ShiftTraffic, revision: str | None) -> bool:
    return traffic.percents(shift.to) == {revision: 100}


def split_left(plan: Plan, journal: Journal) -> dict[str, int] | None:
    """The split after what was begun and not undone, by the names of revisions; None when nothing
    was begun that writes one."""
    if not any(
        event.kind == "started" and event.step in _touching(plan) for event in journal.events
    ):
        return None  # whoever wrote the split that was found, it was not this run
    for step in begun(plan, journal):
        if isinstance(step.act, ShiftTraffic):
            return traffic.percents(step.act.to)
        if isinstance(step.act, CreateService | StartRevision):
            return {step.act.revision: 100}
    return traffic.percents(plan.found)


def split_in_doubt(plan: Plan, journal: Journal) -> dict[str, int] | None:
    """The split that may be there instead: of a shift that was begun, and never seen to have come
    about, nobody knows whether it did."""
    for step in begun(plan, journal):
        if isinstance(step.act, ShiftTraffic):
            return None if step.id in journal.finished else traffic.percents(step.act.was)
        if isinstance(step.act, StartRevision):
            return None if step.id in journal.finished else traffic.percents(plan.found)
    return None


def splits_of(plan: Plan) -> list[dict[str, int]]:
    """Every split that the run may leave behind wherever it stops, the one it found first."""
    found = [traffic.percents(plan.found)] if plan.found else []
    for step in plan.steps:
        if isinstance(step.act, ShiftTraffic):
            found.append(traffic.percents(step.act.to))
        if isinstance(step.act, CreateService | StartRevision):
            found.append({step.act.revision: 100})
    return found


def _touching(plan: Plan) -> frozenset[str]:
    """The steps that write a split, were it the same one: placing names what LATEST stood for."""
    writing = (CreateService, PlaceRevision, ShiftTraffic, StartRevision, StopRevision)
    return frozenset(step.id for step in plan.steps if isinstance(step.act, writing))
