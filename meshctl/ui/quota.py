"""Turns what is known of the quota into its document. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshctl.observe.quota import Holding, Rule
from meshctl.plan.pools import POOLS, Pool, QuotaSeen
from meshctl.plan.waysout import delete_command, request_command
from meshctl.ui.asked import HolderEntry, PoolEntry, QuotaEntry


def quota_entry(
    target: str,
    seen: QuotaSeen,
    held: Iterable[Holding],
    wanted: Mapping[Pool, int],
    rule: Rule,
) -> QuotaEntry:
    """One target that could be read, at least its services; `wanted` is the most that one declared
    service may take of each pool."""
    return QuotaEntry(
        target=target,
        project=seen.project,
        region=seen.region,
        pools=tuple(_pool(seen, pool, wanted.get(pool, 0)) for pool in POOLS),
        holders=tuple(_holder(seen, holding) for holding in held),
        window_s=rule.window_s,
        traffic_known=not seen.why_traffic,
        rule=str(rule),
        unknown=tuple(_unknown(seen)),
    )


def unread(target: str, project: str, region: str, why: str) -> QuotaEntry:
    """One target whose services could not be read: nothing is known of it, which is not nothing."""
    return QuotaEntry(
        target=target, project=project, region=region, pools=(), holders=(), rule="",
        window_s=0.0, traffic_known=False,
        unknown=(f"everything: {why}",),
    )  # fmt: skip


def _pool(seen: QuotaSeen, pool: Pool, wanted: int) -> PoolEntry:
    limit, in_use = seen.limit(pool), seen.in_use(pool)
    each = 1 if pool.resource == "gpu" else 1000 if pool.resource == "cpu" else 2**30
    more = max((limit.value or 0) + each, in_use + each, wanted)
    over = limit.value is not None and wanted > limit.value
    return PoolEntry(
        id=pool.id,
        resource=pool.resource,
        accelerator=pool.accelerator,
        zonal_redundancy=pool.redundant if pool.accelerator else None,
        limit=limit.value,
        unlimited=limit.unlimited,
        in_use=in_use,
        exact=seen.running is not None,
        free=seen.free(pool),
        why=limit.why,
        short=over or (seen.free(pool) == 0 and bool(wanted or in_use)),
        request=request_command(seen.project, seen.region, pool, more),
    )


def _holder(seen: QuotaSeen, holding: Holding) -> HolderEntry:
    holder, size = holding.holder, holding.holder.size
    stranger = holding.stale and holding.key is None
    return HolderEntry(
        service=holder.service,
        revision=holder.revision,
        key=holding.key,
        accelerator=size.gpu,
        zonal_redundancy=size.redundant if size.gpu else None,
        cpu_milli=size.cpu_milli,
        memory_bytes=size.memory_bytes,
        min=holder.warm,
        max=holder.max,
        running=holder.running,
        last_traffic=holder.asked,
        stale=holding.stale,
        delete=delete_command(seen, holder.service) if stranger else None,
    )


def _unknown(seen: QuotaSeen) -> list[str]:
    """Each reason once, with what it hides."""
    whys: dict[str, list[str]] = {}
    for limit in seen.limits:
        if limit.why:
            whys.setdefault(limit.why, []).append(limit.pool.name)
    every = len(seen.limits)
    told = [
        f"{'every limit' if len(names) == every else 'limit of ' + ', '.join(names)}: {why}"
        for why, names in whys.items()
    ]
    told += [f"what runs: {seen.why_running}"] if seen.why_running else []
    told += [f"last requests: {seen.why_traffic}"] if seen.why_traffic else []
    return told
