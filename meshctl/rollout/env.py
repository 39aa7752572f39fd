"""Brings the environment of a service to what the fleet declares, and nothing else."""

from __future__ import annotations

from meshctl.plan.env import make_env_sync
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.request import Request
from meshctl.plan.steps import Plan
from meshctl.rollout.ground import Ground
from meshctl.rollout.look import existing, observe
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.verbs import Approve, carry_out
from meshctl.rollout.wish import Wish, planned, request_of


def sync(ground: Ground, wish: Wish, approve: Approve) -> Outcome:
    """A whole rollout of the release that serves with the declared env. Raises Refused, also for a
    split that a stranger made."""
    with ground.locked("env sync") as lock:
        seen = existing(ground, observe(ground))
        plan = planned(_plan, request_of(ground, wish), seen, wish)
        outcome = carry_out(ground, plan, lock, approve, seen)
    if outcome.run:
        return outcome
    message = f"the environment of {ground.key} is what the fleet file declares"
    return outcome.model_copy(update={"message": message})


def _plan(request: Request, seen: ServiceSeen | None) -> Plan:
    assert seen is not None, "that it exists was seen before"
    return make_env_sync(request, seen)
