"""Keeps what passed on the service itself, and goes back by it where no journal can be read."""

from __future__ import annotations

from dataclasses import replace

from meshctl.errors import MeshctlError
from meshctl.plan.move import Move, make_rollback
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.standing import labels_of, with_labels
from meshctl.plan.steps import Plan, Remember
from meshctl.rollout.closing import came_to_serve
from meshctl.rollout.ending import Ending
from meshctl.rollout.ground import Ground
from meshctl.state.ledger import Ledger
from meshctl.state.lock import Lock
from meshctl.state.site import Site


def way_back(move: Move, seen: ServiceSeen, to: str | None, site: Site) -> Plan:
    """The rollback that the journal knows; by the labels where it is damaged or knows none."""
    plan = make_rollback(move, seen, to)
    if move.ledger.whole and not plan.refused:
        return plan
    told = replace(move, ledger=with_labels(move.ledger, seen, site))
    found = make_rollback(told, seen, to)
    if found.refused:
        return plan
    note = _why(move.ledger)
    return found.model_copy(update={"by_labels": True, "notes": (note, *found.notes)})


def _why(ledger: Ledger) -> str:
    """Said before the question: the way back is known from somewhere else than usual."""
    broken = [run.run for run in ledger.runs if run.state == "damaged"]
    why = f"run {', '.join(broken)} cannot be read" if broken else "no journal knows a way back"
    return f"{why}: going by the labels on the service, which say what once passed"


def remember(ground: Ground, lock: Lock, plan: Plan, ending: Ending) -> Ending:
    """Write what passed onto the service, for whoever has no journal one day. The run is over and
    its verdict recorded, so a write that fails is only told."""
    if not (came_to_serve(plan, ending) or plan.verb == "rollback"):
        return ending
    try:
        act = Remember(labels=labels_of(ground.ledger()))
        ground.target.perform(ground.name, act, "", lock.assure)
    except MeshctlError as error:
        told = f"the labels on the service could not be written: {error.message}"
        return ending.model_copy(update={"untidy": ending.untidy or told})
    return ending
