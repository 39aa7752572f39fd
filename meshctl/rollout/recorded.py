"""What a release was asked when it was placed, for whoever has no fleet file to say it."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from meshctl.errors import UsageError
from meshctl.plan.move import Move
from meshctl.plan.observed import Revision
from meshctl.plan.steps import Asks, CheckRelease, Plan
from meshctl.rollout.ground import Ground
from meshctl.spec.model import Rollout
from meshctl.state.journal import Event, read_events
from meshctl.state.ledger import DEPLOYING

PLACING = ("adopt", "canary", "deploy", *DEPLOYING)
"""Verbs that read the battery from a fleet file. A rollback without one asks less, and so what it
asked is not what a verdict may rest on."""


def as_recorded(ground: Ground, move: Move, revision: Revision) -> Move:
    """The move with the battery that the journal knows for exactly this revision. Raises UsageError
    where it knows none: a verdict over another battery would prove something else."""
    asks = _asks(ground, revision)
    if asks is None:
        raise UsageError(
            f"what to ask of revision {revision.name} is unknown: there is no fleet file that can "
            "be used, and no journal of a run that placed it",
            hint=f"mend the file, `meshctl validate` tells how; `meshctl status {move.key}` and "
            f"`meshctl logs {move.key}` work without it",
            place=f"{move.target}/{move.name}",
        )
    patience = {"confirm": asks.confirm, "token_deadline": asks.token_deadline_s}
    return replace(move, battery=asks.battery, policy=Rollout().model_copy(update=patience))


def _asks(ground: Ground, revision: Revision) -> Asks | None:
    placed = [
        (run.run, 1)
        for run in reversed(ground.ledger().runs)
        if run.verb in PLACING and (run.revision, run.release) == (revision.name, revision.release)
    ]
    found = (_asked_in(opened, revision) for opened in read_events(ground.store, placed))
    return next((asks for asks in found if asks is not None), None)


def _asked_in(opened: Event | None, revision: Revision) -> Asks | None:
    """The first battery that a run meant for the revision itself, not for its peers."""
    try:
        plan = Plan.model_validate(opened.data.get("plan") if opened else None)
    except ValidationError:  # written by nobody of ours
        return None
    acts = (step.act for step in plan.steps)
    asked = (act.asks for act in acts if isinstance(act, CheckRelease)
             and act.revision == revision.name)  # fmt: skip
    return next((asks for asks in asked if not asks.peers and not asks.only), None)
