"""How the quota looks: the pools, who holds them, and what to type. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes, show_seconds
from meshctl.ui.asked import HolderEntry, PoolEntry, Quota, QuotaEntry
from meshctl.ui.render.text import columns, wrapped

_HEAD = ("POOL", "LIMIT", "IN USE", "FREE")


def quota_lines(document: Quota, width: int) -> list[str]:
    """One block for each target."""
    blocks = [_target(entry, width) for entry in document.targets]
    return [line for block in blocks for line in (*block, "")][:-1] or ["no Cloud Run targets"]


def _target(entry: QuotaEntry, width: int) -> list[str]:
    lines = [f"{entry.target}: {entry.project} {entry.region}"]
    pools = [_pool(pool) for pool in entry.pools]
    lines += columns([_HEAD, *pools], indent="  ") if pools else []
    for reason in entry.unknown:
        lines += wrapped(f"unknown: {reason}", width, "  ! ")
    shown = [h for h in entry.holders if h.accelerator or h.min or h.running or h.stale]
    for holder in shown:
        lines += _holder(entry, holder, width)
    if not shown and entry.pools:
        lines.append("  nobody holds anything")
    lines += wrapped(entry.rule, width, "  ") if any(h.stale for h in shown) else []
    return lines + _commands(entry)


def _pool(pool: PoolEntry) -> tuple[str, ...]:
    limit = "unlimited" if pool.unlimited else _amount(pool, pool.limit)
    least, most = ("", "") if pool.exact else (">= ", "<= ")
    free = "-" if pool.unlimited else _amount(pool, pool.free)
    free = free if pool.free in (None, 0) else most + free
    return _name(pool), limit, least + _amount(pool, pool.in_use), free


def _name(pool: PoolEntry) -> str:
    if pool.accelerator is None:
        return "CPU" if pool.resource == "cpu" else "memory"
    return pool.accelerator + (", zonal redundancy" if pool.zonal_redundancy else "")


def _amount(pool: PoolEntry, value: int | None) -> str:
    if not value:
        return "?" if value is None else "0"
    if pool.resource == "memory":
        return show_bytes(value)
    return f"{value / 1000:g} vCPU" if pool.resource == "cpu" else str(value)


def _holder(entry: QuotaEntry, holder: HolderEntry, width: int) -> list[str]:
    takes = holder.accelerator or f"{holder.cpu_milli / 1000:g} vCPU"
    takes += ", zonal redundancy" if holder.zonal_redundancy else ""
    running = "?" if holder.running is None else str(holder.running)
    told = f"min {holder.min}, max {holder.max}, running {running}, {_asked(entry, holder)}"
    undeclared = "" if holder.key or holder.stale else ", not in the fleet file"
    lines = wrapped(f"{holder.service}: {holder.revision}", width, "  ")
    lines += wrapped(f"{takes}; {told}{undeclared}", width, "    ")
    return lines + (wrapped(f"stale: {holder.stale}", width, "    ! ") if holder.stale else [])


def _asked(entry: QuotaEntry, holder: HolderEntry) -> str:
    if holder.last_traffic:
        return f"last asked {holder.last_traffic}"
    if not entry.traffic_known:
        return "last asked ?"
    return f"not asked for {_window(entry.window_s)}"


def _window(seconds: float) -> str:
    return f"{seconds / 86400:g}d" if seconds >= 86400 else show_seconds(seconds)


def _commands(entry: QuotaEntry) -> list[str]:
    """To be copied, so never wrapped."""
    deletes = dict.fromkeys(h.delete for h in entry.holders if h.delete)
    short = [pool for pool in entry.pools if pool.short]
    lines = ["  to delete what is stale", *(f"    $ {c}" for c in deletes)] if deletes else []
    if short:
        lines += ["  to ask for more", *(f"    $ {pool.request}" for pool in short)]
    return lines
