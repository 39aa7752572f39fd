"""What a plan will cost: what is paid for the revisions that its acts leave behind. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from meshctl.plan import traffic
from meshctl.plan.cost import Cost, CostChange, Held, cost_of, held_of, seen_cost
from meshctl.plan.observed import ServiceScaling, ServiceSeen, Split
from meshctl.plan.prices import Prices
from meshctl.plan.steps import (
    Act,
    CreateService,
    PlaceRevision,
    RetireTag,
    SetScaling,
    ShiftTraffic,
)

Kept = dict[str, Held]


def foreseen(seen: ServiceSeen | None, acts: Iterable[Act], prices: Prices) -> CostChange:
    """The cost now, and once every act was carried out."""
    before = seen_cost(seen, prices) if seen else None
    return CostChange(before=before, after=_after(seen, acts, prices), prices=prices)


def _after(seen: ServiceSeen | None, acts: Iterable[Act], prices: Prices) -> Cost | None:
    kept = {held.revision: held for held in (held_of(seen) if seen else ())}
    scaling = seen.scaling if seen else ServiceScaling()
    for act in acts:
        kept, scaling = _taken(kept, scaling, act)
    named = [one for one in kept.values() if one.percent or one.tags]
    return cost_of(named, scaling, prices) if named else None


def _taken(kept: Kept, scaling: ServiceScaling, act: Act) -> tuple[Kept, ServiceScaling]:
    match act:
        case CreateService(release=release, revision=name):
            return {name: Held(name, release.template, percent=100)}, act.scaling
        case PlaceRevision(release=release, revision=name, tag=tag):
            placed = kept.get(name) or Held(name, release.template)
            return _without(kept, tag) | {name: replace(placed, tags=(*placed.tags, tag))}, scaling
        case RetireTag(tag=tag):
            return _without(kept, tag), scaling
        case ShiftTraffic(to=to):
            return _shifted(kept, to), scaling
        case SetScaling(to=to):
            return kept, scaling.model_copy(update={"min": to.min})
        case _:
            return kept, scaling


def _without(kept: Kept, tag: str) -> Kept:
    return {
        name: replace(one, tags=tuple(each for each in one.tags if each != tag))
        for name, one in kept.items()
    }


def _shifted(kept: Kept, to: Split) -> Kept:
    shares = traffic.percents(to)
    return {name: replace(one, percent=shares.get(name, 0)) for name, one in kept.items()}
