"""Turns what gc found, and what the fleet costs, into documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from meshctl.observe.status import Status
from meshctl.plan import gc, stale
from meshctl.plan.cost import Cost, total
from meshctl.plan.gc import TagFound
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.prices import Prices
from meshctl.plan.stale import ServiceFound
from meshctl.rollout.gc import Swept
from meshctl.ui import upkeep as ui
from meshctl.ui.costs import Amount, amount, cost_entry, price_sources


@dataclass(frozen=True)
class Looked:
    """The tags of one service on one target that gc is about; `seen` is the service as it is, None
    where it does not exist."""

    key: str
    target: str
    tags: tuple[TagFound, ...]
    prices: Prices
    seen: ServiceSeen | None


def tags_document(looked: Sequence[Looked], swept: Mapping[str, Swept], code: int) -> ui.Gc:
    """Every tag, and what became of it; `swept` is by the key of the service and its target."""
    return ui.Gc(
        exit_code=code,
        looked_at=_looked_at([one.seen for one in looked]),
        tags=tuple(
            _tag(one, tag, swept.get(f"{one.key}/{one.target}", Swept()))
            for one in looked
            for tag in one.tags
        ),
        services=(),
        runs=_runs(swept),
        notes=_errors(swept),
        prices=price_sources(one.prices for one in looked if any(tag.warm for tag in one.tags)),
    )


def _looked_at(found: Sequence[ServiceSeen | None]) -> ui.LookedAt:
    there = [seen for seen in found if seen]
    return ui.LookedAt(
        services=len(there),
        not_deployed=len(found) - len(there),
        revisions=sum(len(seen.revisions) for seen in there),
        tags=sum(bool(row.tag) for seen in there for row in seen.traffic),
    )


def _tag(looked: Looked, tag: TagFound, swept: Swept) -> ui.StaleTag:
    named = tag.stale or not tag.bound
    return ui.StaleTag(
        service=looked.key,
        target=looked.target,
        tag=tag.tag,
        revision=tag.revision,
        release=tag.release,
        verdict="stale" if tag.stale else "kept",
        status="removed" if tag.tag in swept.gone else "found",
        why=tag.why,
        ours=tag.ours,
        warm_instances=tag.warm.instances if tag.warm else 0,
        usd_per_hour=tag.warm.usd_per_hour if tag.warm else 0.0,
        command=gc.command_of(looked.key, tag.tag) if named else "",
    )


def services_document(
    target_of: Mapping[str, str],
    found: Sequence[ServiceFound],
    prices: Iterable[Prices],
    swept: Mapping[str, Swept],
    code: int,
    looked_at: ui.LookedAt,
) -> ui.Gc:
    """Every live service that no fleet file declares, and what became of it."""
    return ui.Gc(
        exit_code=code,
        looked_at=looked_at,
        tags=(),
        services=tuple(
            _service(one, target_of[one.seen.name], swept.get(one.seen.name, Swept()))
            for one in found
        ),
        runs=_runs(swept),
        notes=_errors(swept),
        prices=price_sources(prices) if found else (),
    )


def _service(one: ServiceFound, target: str, swept: Swept) -> ui.StaleService:
    return ui.StaleService.model_validate(
        {
            "name": one.seen.name,
            "target": target,
            "verdict": one.verdict,
            "status": "removed" if one.seen.name in swept.gone else "found",
            "why": one.why,
            "image": one.template.image,
            "gpu": one.template.gpu or "",
            "created": one.created,
            "last_traffic": one.asked.last,
            "idle": _idle(one.cost),
            "command": stale.command_of(one.seen.name, one.verdict),
        }
    )


def _idle(cost: Cost) -> Amount:
    warm = sum(one.instances for one in cost.warm)
    return amount(cost.idle_instances + warm, cost.idle_with_warm)


def _runs(swept: Mapping[str, Swept]) -> tuple[str, ...]:
    return tuple(one.run for one in swept.values() if one.run)


def _errors(swept: Mapping[str, Swept]) -> tuple[str, ...]:
    """What kept gc from going on, service by service."""
    return tuple(
        f"{name}: {one.error.message}" + (f"; {one.error.hint}" if one.error.hint else "")
        for name, one in swept.items()
        if one.error
    )


def cost_document(found: Iterable[Status]) -> ui.Cost:
    """What the fleet costs now. What is not there costs nothing; what is unknown is not summed."""
    known = tuple(found)
    sums = [one.cost for one in known if one.cost]
    # Where nothing that runs has a price, a sum of 0.00 would read as "free".
    unpriced = not sums and any(one.seen for one in known)
    unseen = unpriced or any(one.state == "UNKNOWN" for one in known)
    return ui.Cost(
        services=tuple(
            ui.ServiceCost(
                name=one.name,
                target=one.target,
                cost=cost_entry(one.cost) if one.cost else None,
                notes=_why_none(one),
            )
            for one in known
        ),
        idle=_total([_idle(one) for one in sums], unseen),
        full=_total([_full(one) for one in sums], unseen),
        prices=price_sources(one.prices for one in known if one.cost),
    )


def _full(cost: Cost) -> Amount:
    warm = [one.usd_per_hour for one in cost.warm]
    instances = cost.full_instances + sum(one.instances for one in cost.warm)
    return amount(instances, total((cost.full_usd_per_hour, *warm)))


def _total(amounts: Sequence[Amount], unseen: bool) -> Amount:
    whole = None if unseen else total(one.usd_per_hour for one in amounts)
    return amount(sum(one.instances for one in amounts), whole)


def _why_none(one: Status) -> tuple[str, ...]:
    if one.cost:
        return ()
    if one.state == "UNKNOWN":
        return one.notes
    if one.seen is None:
        return ("not deployed",)
    if one.seen.on_host:
        return ("a host of your own sends no bill",)
    return ("an embedded cloud sends no bill; `prices` in the fleet file gives it one",)
