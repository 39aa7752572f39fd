"""Whether the quota lets a plan through: its two gates, each refusal with the ways out. Pure.

Gate 1 bites when a template is written: the most instances that one service may have are compared
with the limit, not summed over services. Gate 2 bites when an instance starts: whatever runs
counts, the old warm revision and the new one's first instance included; facts/cloud-run section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.plan.acts import Acts
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.pools import POOLS, Pool, QuotaSeen, Size, gpu_pool, size_wanted
from meshctl.plan.request import Request
from meshctl.plan.steps import CreateService, PlaceRevision, Plan, Reason, SetScaling
from meshctl.plan.waysout import more, other_pool, to_free_slots
from meshctl.spec.model import Service

OUT_OF_DATE = "what runs was measured up to three minutes ago: `--despite-quota` does not ask"
NEAR_POOL_BYTES = 20 * 2**30
"""From here on the memory pool is asked about: half of the 40 GiB that many projects have."""


def concerns(service: Service) -> bool:
    """Whether a service can run into a quota: it wants a GPU, or much memory at its maximum."""
    memory = service.scaling.max * service.resources.memory
    return service.resources.gpu is not None or memory >= NEAR_POOL_BYTES


def must_ask(request: Request, plan: Plan) -> bool:
    """Whether a plan starts instances that a quota may not let through."""
    acts = [step.act for step in plan.steps]
    return concerns(request.service) and any(
        isinstance(act, CreateService | PlaceRevision)
        or (isinstance(act, SetScaling) and act.to.min > act.was.min)
        for act in acts
    )


def refused(request: Request, seen: ServiceSeen | None, acts: Acts) -> list[Reason]:
    """Every reason why the quota forbids these acts; none where the quota was not asked."""
    if request.quota is None:
        return []
    writes = any(isinstance(act, CreateService | PlaceRevision) for _, act in acts)
    asked = _Asked(request, request.quota, size_wanted(request.service))
    warm = seen.scaling.min if seen else 0
    too_many = _most(asked) if writes else []
    return too_many or _slots(asked, _starting(request.quota, request, seen, acts), warm)


def refused_early(request: Request) -> list[Reason]:
    """The same before an image is built, when it is only known who holds what."""
    if request.quota is None:
        return []
    asked = _Asked(request, request.quota, size_wanted(request.service))
    own = [h for h in request.quota.holders if h.service == request.name]
    first = 1 if own else max(1, request.service.scaling.min)
    return _most(asked) or _slots(asked, first, sum(h.warm for h in own))


@dataclass(frozen=True)
class _Asked:
    """What is wanted, and the pools it is wanted from."""

    request: Request
    quota: QuotaSeen
    size: Size


def _most(asked: _Asked) -> list[Reason]:
    """Gate 1, for every pool that an instance draws on."""
    most = asked.request.service.scaling.max
    over = [
        pool
        for pool in POOLS
        if (limit := asked.quota.limit(pool).value) is not None
        and pool.takes(asked.size) * most > limit
    ]
    return [_too_many(asked, pool, most) for pool in over]


def _too_many(asked: _Asked, pool: Pool, most: int) -> Reason:
    each, limit = pool.takes(asked.size), asked.quota.limit(pool).value or 0
    fits, path = limit // each, f"services.{asked.request.key}"
    quota, request = asked.quota, asked.request
    ways = [f"write `scaling: {{max: {fits}}}`"] if fits else []
    ways += other_pool(request, quota, 1) if pool.resource == "gpu" else []
    return Reason(
        message=f"scaling.max {most} may take {pool.shown(each * most)} of {pool.name}, and the "
        f"quota of {quota.region} is {pool.shown(limit)}",
        hint=_ordered([*ways, more(request, pool, each * most)]),
        place=request.fleet.place(f"{path}.scaling.max" if fits else f"{path}.resources"),
    )


def _slots(asked: _Asked, new: int, own_min: int) -> list[Reason]:
    """Gate 2, for the GPU."""
    pool = gpu_pool(asked.size)
    free = asked.quota.free(pool) if pool else None
    if pool is None or free is None or new <= free:
        return []
    quota, request = asked.quota, asked.request
    own = sum(h.holds for h in quota.drawing(pool) if h.service == request.name)
    beside = f" beside its {own} that run{'s' if own == 1 else ''}" if own else ""
    needs = f"{new} more instance{'s' if new > 1 else ''}{beside}"
    holders = ", ".join(f"{h.service} {h.holds}" for h in quota.drawing(pool)) or "nobody"
    known = "" if request.key == request.name else f" ({request.name})"
    return [
        Reason(
            message=f"{request.key}{known} cannot start {needs}: {free} free of "
            f"{quota.limit(pool).value} {pool.name} in {quota.region}, held by: {holders}",
            hint=_ordered(to_free_slots(request, quota, pool, new, own_min if own else 0))
            + f"; {OUT_OF_DATE}",
            place=request.fleet.place(f"services.{request.key}.resources.gpu"),
        )
    ]


def _starting(quota: QuotaSeen, request: Request, seen: ServiceSeen | None, acts: Acts) -> int:
    """How many instances must start before anything stops. A revision that runs needs none; a
    minimum of the service is shared out by traffic, so only a first release needs it at once."""
    for _, act in acts:
        if isinstance(act, CreateService):
            return max(1, act.scaling.min, act.release.template.min_instances)
        if isinstance(act, PlaceRevision):
            runs = (quota.running or {}).get((request.name, act.revision), 0)
            return 0 if runs else max(1, act.release.template.min_instances)
    raised = [act.to.min for _, act in acts if isinstance(act, SetScaling)]
    held = sum(h.holds for h in quota.holders if h.service == request.name)
    return max(0, max(raised, default=0) - held)


def _ordered(ways: list[str]) -> str:
    if len(ways) < 2:
        return "".join(ways)
    return "cheapest first: " + "; ".join(f"({n}) {way}" for n, way in enumerate(ways, 1))


def notes(request: Request) -> list[str]:
    """What was found out about the quota, and what could not be."""
    pool, quota = gpu_pool(size_wanted(request.service)), request.quota
    if quota is None:
        return []
    asked = [pool] if pool else []
    asked += [other for other in POOLS if other.resource == "memory"]
    unknown = [limit for limit in map(quota.limit, asked) if _is_unknown(limit.value, limit.why)]
    said = [f"the quota of {limit.pool.name} is unknown: {limit.why}" for limit in unknown]
    if pool and quota.free(pool) is not None:
        said.append(_in_use(quota, pool))
    return said


def _is_unknown(value: int | None, why: str) -> bool:
    return value is None and bool(why)


def _in_use(quota: QuotaSeen, pool: Pool) -> str:
    limit, count = quota.limit(pool).value, quota.in_use(pool)
    told = f"quota: {count} of {limit} in use of {pool.name} in {quota.region}"
    if quota.running is not None:
        return told
    least = told.replace("quota: ", "quota: at least ", 1)
    return f"{least}; how many instances run is unknown: {quota.why_running}"
