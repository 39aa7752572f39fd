"""Costs as they stand in JSON documents, made from those of the domain. Pure.

USD, rounded to a millionth an hour and a cent a month; null is unknown. A cost as a whole is null
where nobody sends a bill, as on an embedded cloud.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from meshctl.plan.cost import MONTH_H, Cost, CostChange
from meshctl.plan.prices import Prices
from meshctl.spec.model import Frozen


class Amount(Frozen):
    """So many instances, and what they cost."""

    instances: int
    usd_per_hour: float | None
    usd_per_month: float | None = Field(description="730 hours")


class WarmEntry(Frozen):
    """A revision without traffic that its own minimum keeps warm; it comes on top."""

    revision: str
    tags: tuple[str, ...]
    instances: int
    usd_per_hour: float | None
    usd_per_month: float | None = Field(description="730 hours")


class CostEntry(Frozen):
    """What one service costs."""

    idle: Amount = Field(description="kept for what has traffic, though nobody asks")
    full: Amount = Field(description="as many as may run")
    warm: tuple[WarmEntry, ...]
    assumed: bool = Field(description="a price is assumed, not confirmed")


class CostChangeEntry(Frozen):
    """What a plan does to the cost; null where the service does not exist."""

    before: CostEntry | None
    after: CostEntry | None


class PriceSource(Frozen):
    """When prices held, and who says so."""

    as_of: str
    source: str


def amount(instances: int, usd_per_hour: float | None) -> Amount:
    """Instances and their price an hour, also by the month."""
    return Amount(instances=instances, **_sums(usd_per_hour))


def cost_entry(cost: Cost) -> CostEntry:
    """One service's cost."""
    return CostEntry(
        idle=amount(cost.idle_instances, cost.idle_usd_per_hour),
        full=amount(cost.full_instances, cost.full_usd_per_hour),
        warm=tuple(
            WarmEntry(
                revision=one.revision,
                tags=one.tags,
                instances=one.instances,
                **_sums(one.usd_per_hour),
            )
            for one in cost.warm
        ),
        assumed=cost.assumed,
    )


def cost_change(change: CostChange | None) -> CostChangeEntry | None:
    """Before and after; None where nobody sends a bill."""
    if change is None or not change.prices.billed:
        return None
    before, after = change.before, change.after
    return CostChangeEntry(
        before=cost_entry(before) if before else None,
        after=cost_entry(after) if after else None,
    )


def price_sources(prices: Iterable[Prices | None]) -> tuple[PriceSource, ...]:
    """Each list of prices once, by its day."""
    rows = sorted({(one.as_of, one.source) for one in prices if one and one.billed})
    return tuple(PriceSource(as_of=day, source=source) for day, source in rows)


def _sums(usd_per_hour: float | None) -> dict[str, float | None]:
    if usd_per_hour is None:
        return {"usd_per_hour": None, "usd_per_month": None}
    return {
        "usd_per_hour": round(usd_per_hour, 6),
        "usd_per_month": round(usd_per_hour * MONTH_H, 2),
    }
