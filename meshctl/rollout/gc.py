"""Takes away what nobody uses any more: stale tags, stale services. Each piece is a step of a run.

Nothing is undone: a piece that is gone is gone, one that could not be taken stays, and the next
`gc` finds it again. So a run of it that dies holds nobody up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from meshctl.errors import Interrupted, LockHeld, MeshctlError
from meshctl.plan.cost import seen_cost
from meshctl.plan.gc import Question, TagFound, Tagged, gc_plan, tags_found
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.prices import Prices
from meshctl.plan.stale import ServiceFound, removal_plan
from meshctl.plan.steps import PlaceRevision, Plan, Step
from meshctl.rollout.ending import Ending
from meshctl.rollout.ground import Ground
from meshctl.rollout.hands import Hands
from meshctl.rollout.look import existing, observe
from meshctl.rollout.run import note
from meshctl.state.journal import Event, Journal, read_events
from meshctl.state.lock import Lock


@dataclass(frozen=True)
class Swept:
    """What a run of gc took away (tags, or a service by its name), and the error that ended it."""

    run: str = ""
    gone: frozenset[str] = frozenset()
    error: MeshctlError | None = field(default=None)


def look_at_tags(
    ground: Ground, prices: Prices, named: frozenset[str]
) -> tuple[ServiceSeen | None, tuple[TagFound, ...]]:
    """Every tag of the service as it is now; nothing is locked or changed."""
    seen = observe(ground)
    if seen is None:
        return None, ()
    return seen, tags_found(_question(ground, named), seen, seen_cost(seen, prices))


def sweep_tags(ground: Ground, prices: Prices, approved: frozenset[Tagged]) -> Swept:
    """Take away the approved tags that are still where they were, and still stale. Raises LockHeld,
    Unreachable."""
    named = frozenset(tag for tag, _ in approved)
    with ground.locked("gc") as lock:
        seen = existing(ground, observe(ground))
        question = _question(ground, named)
        found = tags_found(question, seen, seen_cost(seen, prices))
        chosen = [one for one in found if (one.tag, one.revision) in approved]
        plan = gc_plan(question, seen, chosen)
        names = {step.id: one.tag for step, one in zip(plan.steps, _stale(chosen), strict=True)}
        return _carried_out(ground, plan, lock, names)


def remove_service(ground: Ground, found: ServiceFound) -> Swept:
    """Remove a service as it was seen. Raises LockHeld, Unreachable."""
    with ground.locked("gc") as lock:
        plan = removal_plan(found, ground.target.name)
        return _carried_out(ground, plan, lock, {plan.steps[0].id: ground.name})


def _stale(tags: list[TagFound]) -> list[TagFound]:
    return [one for one in tags if one.stale]


def _question(ground: Ground, named: frozenset[str]) -> Question:
    ledger = ground.ledger()
    placing = [(run.run, 1) for run in ledger.runs if run.verb not in ("verify", "gc")]
    events = read_events(ground.store, placing)
    return Question(
        key=ground.key,
        name=ground.name,
        target=ground.target.name,
        ledger=ledger,
        ours=frozenset(tagged for event in events if event for tagged in _placed(event)),
        named=named,
    )


def _placed(event: Event) -> list[Tagged]:
    """The tags that a run meant to place; a plan that cannot be read says nothing."""
    try:
        plan = Plan.model_validate(event.data.get("plan"))
    except ValidationError:
        return []
    acts = (step.act for step in plan.steps)
    return [(act.tag, act.revision) for act in acts if isinstance(act, PlaceRevision)]


def _carried_out(ground: Ground, plan: Plan, lock: Lock, names: dict[str, str]) -> Swept:
    """Every step between its two journal entries, until one cannot be performed."""
    if not plan.steps:
        return Swept()
    journal, hands = ground.open(plan, lock), ground.hands(lock)
    swept = Swept(run=journal.run)
    for step in plan.steps:
        error = _attempt(step, journal, hands)
        if error is not None:
            swept = replace(swept, error=error)
            break
        swept = replace(swept, gone=swept.gone | {names[step.id]})
    note(journal, hands, "closed", data=_closing(swept))
    return swept


def _attempt(step: Step, journal: Journal, hands: Hands) -> MeshctlError | None:
    try:
        hands.interrupts.check()
        hands.lock.assure()
        note(journal, hands, "started", step.id)
        began = hands.clock.monotonic()
        seen, _ = hands.perform(step, journal.run)
        seconds = round(hands.clock.monotonic() - began, 3)
        note(journal, hands, "finished", step.id, {"seconds": seconds, "seen": seen})
    except LockHeld:
        raise
    except MeshctlError as error:
        note(journal, hands, "failed", step.id, _ending(error, step.id).record())
        return error
    return None


def _ending(error: MeshctlError | None, step: str | None = None) -> Ending:
    if error is None:
        return Ending(how="done")
    how = "interrupted" if isinstance(error, Interrupted) else "fail"
    return Ending.model_validate(
        {"how": how, "why": error.message, "hint": error.hint, "step": step,
         "code": error.exit_code}
    )  # fmt: skip


def _closing(swept: Swept) -> dict[str, object]:
    """What the last event says; it neither judged nor moved anything."""
    ending = _ending(swept.error)
    return {"ending": ending.record(), "exit_code": ending.code, "served": False}
