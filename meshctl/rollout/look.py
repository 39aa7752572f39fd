"""One look at the service a verb is about: unknown is never taken for empty."""

from __future__ import annotations

from meshctl.errors import Refused, Unreachable
from meshctl.plan.observed import ServiceSeen, TargetSeen
from meshctl.rollout.ground import Ground
from meshctl.rollout.hands import at_once


def observe(ground: Ground) -> ServiceSeen | None:
    """One reading of the service. Raises Unreachable."""
    with at_once(ground.interrupts):
        seen = ground.target.observe([ground.name])
    return known(ground, seen)


def known(ground: Ground, seen: TargetSeen) -> ServiceSeen | None:
    """The service in an observation. Raises Unreachable: unknown is never taken for empty."""
    if seen.unknown:
        raise Unreachable(
            f"{ground.target.name} cannot be observed: {seen.unknown}",
            place=ground.target.name,
            hint="nothing was changed; try again when it answers",
        )
    return seen.services.get(ground.name)


def existing(ground: Ground, seen: ServiceSeen | None) -> ServiceSeen:
    """Raises Refused when it is not there; a run that it left unfinished is to be ended first."""
    if seen is None:
        run, hint = ground.ledger().unfinished, f"deploy it: `meshctl deploy {ground.key}`"
        if run is not None:
            hint = f"`meshctl abort {ground.key}` ends run {run.run} ({run.verb}); then {hint}"
        raise Refused(f"{ground.key} does not exist on {ground.target.name}", hint=hint)
    return seen
