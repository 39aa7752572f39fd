"""What a service costs idle and full, and what each warm candidate adds to that. Pure.

Which instances are kept is the platform's arithmetic (facts/cloud-run section 3): the minimum of
the service is divided among the revisions that have traffic; the minimum in a template counts for
every revision that a tag or a row of the traffic names, traffic or not. Of both the larger holds,
below the smaller of both maxima.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from meshctl.plan.observed import ServiceScaling, ServiceSeen
from meshctl.plan.prices import Prices
from meshctl.plan.release import Template
from meshctl.spec.model import Frozen

MONTH_H = 730
"""Hours of a month, as clouds count them: 365 days times 24 hours by 12."""


class Warm(Frozen):
    """A revision without traffic that its own minimum keeps warm: what it costs beside the
    service, in USD an hour; None is unknown."""

    revision: str
    tags: tuple[str, ...]
    instances: int
    usd_per_hour: float | None


class Cost(Frozen):
    """USD an hour; None is unknown, and never taken for nothing.

    `idle`: the instances that are kept for the revisions with traffic, though nobody asks.
    `full`: as many as may run. `warm` comes on top of both. `assumed`: a figure is unconfirmed.
    """

    idle_instances: int
    idle_usd_per_hour: float | None
    full_instances: int
    full_usd_per_hour: float | None
    warm: tuple[Warm, ...] = ()
    assumed: bool = False

    @property
    def idle_with_warm(self) -> float | None:
        """What is paid in an hour in which nobody asks."""
        return total((self.idle_usd_per_hour, *(one.usd_per_hour for one in self.warm)))


class CostChange(Frozen):
    """What a service costs now and once the plan is carried out; None: it does not exist then."""

    before: Cost | None
    after: Cost | None
    prices: Prices


@dataclass(frozen=True)
class Held:
    """One revision that the traffic names: its share in percent, and its tags."""

    revision: str
    template: Template
    percent: int = 0
    tags: tuple[str, ...] = ()


def cost_of(held: Sequence[Held], scaling: ServiceScaling, prices: Prices) -> Cost:
    """The cost of these revisions under the scaling of their service."""
    serving = [one for one in held if one.percent]
    idle = [(one.template, floor(one, serving, scaling)) for one in serving]
    full = [(one.template, ceiling(one, serving, scaling)) for one in serving]
    warm = tuple(
        Warm(
            revision=one.revision,
            tags=one.tags,
            instances=count,
            usd_per_hour=_usd_per_hour([(one.template, count)], prices),
        )
        for one in held
        if not one.percent and (count := floor(one, serving, scaling))
    )
    return Cost(
        idle_instances=sum(count for _, count in idle),
        idle_usd_per_hour=_usd_per_hour(idle, prices),
        full_instances=sum(count for _, count in full),
        full_usd_per_hour=_usd_per_hour(full, prices),
        warm=warm,
        assumed=any(prices.assumes(one.template) for one in held),
    )


def seen_cost(seen: ServiceSeen, prices: Prices) -> Cost:
    """The cost of a service as it was found."""
    return cost_of(held_of(seen), seen.scaling, prices)


def held_of(seen: ServiceSeen) -> tuple[Held, ...]:
    """The revisions that the split in force names, in its order, each once, LATEST resolved."""
    found: dict[str, Held] = {}
    for row in seen.effective or seen.traffic:
        revision = seen.revision(seen.resolve(row.revision) or "")
        if revision is None:
            continue
        known = found.get(revision.name) or Held(revision.name, revision.template)
        tags = (*known.tags, row.tag) if row.tag else known.tags
        found[revision.name] = replace(known, percent=known.percent + row.percent, tags=tags)
    return tuple(found.values())


def floor(one: Held, serving: Sequence[Held], scaling: ServiceScaling) -> int:
    """How many instances of a revision are kept warm."""
    kept = max(one.template.min_instances, _share(_minimum(scaling), one, serving))
    return min(kept, ceiling(one, serving, scaling))


def ceiling(one: Held, serving: Sequence[Held], scaling: ServiceScaling) -> int:
    """How many instances of a revision may run."""
    if scaling.manual is not None and one.percent:
        return _share(scaling.manual, one, serving)
    if scaling.max is None or not one.percent:
        return one.template.max_instances
    return min(one.template.max_instances, max(1, _share(scaling.max, one, serving)))


def _minimum(scaling: ServiceScaling) -> int:
    return scaling.min if scaling.manual is None else scaling.manual


def _share(count: int, one: Held, serving: Sequence[Held]) -> int:
    """Its part by percent; fractions are rounded in favour of whoever is listed first."""
    whole = {other.revision: count * other.percent // 100 for other in serving}
    left = count - sum(whole.values())
    broken = [other.revision for other in serving if count * other.percent % 100]
    for name in broken[: max(0, left)]:
        whole[name] += 1
    return whole.get(one.revision, 0)


def _usd_per_hour(counts: Iterable[tuple[Template, int]], prices: Prices) -> float | None:
    """No instance costs nothing, whatever one would cost."""
    found = ((prices.instance_usd_per_hour(template), count) for template, count in counts if count)
    return total(None if each is None else each * count for each, count in found)


def total(sums: Iterable[float | None]) -> float | None:
    """All of them together; one that is unknown makes the whole unknown."""
    whole = 0.0
    for each in sums:
        if each is None:
            return None
        whole += each
    return whole
