"""The ways out of a full quota in the order of what they cost, each as something to type. Pure."""

from __future__ import annotations

from meshctl.plan.pools import Pool, QuotaSeen, Size, gpu_pool, size_wanted
from meshctl.plan.request import Request
from meshctl.spec.model import CloudRunTarget, Fleet

IDLE = "about 15 minutes after its last request"
"""When an instance without a minimum goes; facts/cloud-run section 3."""


def to_free_slots(
    request: Request, quota: QuotaSeen, pool: Pool, new: int, own_min: int
) -> list[str]:
    """For `new` more instances: waiting, a cold start, somebody else's service, another pool, a
    larger one. `own_min` is the minimum that the service has now."""
    return [
        *_wait(quota, pool),
        *_sleep(request, quota, own_min),
        *_others_sleep(request, quota, pool),
        *_delete(request, quota, pool),
        *other_pool(request, quota, new),
        more(request, pool, quota.in_use(pool) + new),
    ]


def _wait(quota: QuotaSeen, pool: Pool) -> list[str]:
    passing = sorted({h.service for h in quota.drawing(pool) if h.holds > h.warm})
    return [f"wait until {' or '.join(passing)} is idle, {IDLE}"] if passing else []


def _sleep(request: Request, quota: QuotaSeen, own_min: int) -> list[str]:
    """Warm, it cannot roll beside itself: it must sleep first."""
    if not own_min:
        return []
    command = f"gcloud run services update {request.name} --min=0 {where(quota)}"
    return [
        f"let it sleep for the roll: `{command}`, wait until it is idle ({IDLE}), then go on; "
        "`meshctl deploy` puts the minimum back, and callers meet a cold start meanwhile"
    ]


def _others_sleep(request: Request, quota: QuotaSeen, pool: Pool) -> list[str]:
    """Whatever else of the fleet is kept warm in the pool."""
    names = declared_names(request.fleet, quota.project, quota.region)
    warm = [h.service for h in quota.drawing(pool) if h.warm and h.service != request.name]
    keys = sorted(names[name] for name in set(warm) if name in names)
    return [f"let {key} sleep: write `scaling: {{min: 0}}` there, `meshctl deploy {key}`, and wait"
            for key in keys]  # fmt: skip


def _delete(request: Request, quota: QuotaSeen, pool: Pool) -> list[str]:
    known = declared_names(request.fleet, quota.project, quota.region)
    strangers = sorted({h.service for h in quota.drawing(pool) if h.service not in known})
    return [
        f"delete {name}, if it is nobody's (the fleet file does not know it): "
        f"`{delete_command(quota, name)}`"
        for name in strangers
    ]


def other_pool(request: Request, quota: QuotaSeen, new: int) -> list[str]:
    """The other redundancy, where its quota takes the service and so many new instances."""
    size = size_wanted(request.service)
    other = Size(size.gpu, not size.redundant, size.cpu_milli, size.memory_bytes)
    pool = gpu_pool(other)
    limit, free = (quota.limit(pool).value, quota.free(pool)) if pool else (None, None)
    if pool is None or limit is None or free is None:
        return []
    if limit < request.service.scaling.max or free < new:
        return []
    word = str(other.redundant).lower()
    return [f"write `resources: {{zonal_redundancy: {word}}}`: {free} free of {pool.name}"]


def more(request: Request, pool: Pool, needed: int) -> str:
    """To ask for a quota of `needed`, in units of the pool."""
    return (
        f"ask Google for {pool.shown(needed)}: `meshctl quota {request.target}` prints the command"
    )


def declared_names(fleet: Fleet, project: str, region: str) -> dict[str, str]:
    """The keys of the services in a region, by what they are called there; several targets of a
    fleet may be one region, and no service of any of them is a stranger."""
    same = {
        name
        for name, target in fleet.targets.items()
        if isinstance(target, CloudRunTarget)
        and (target.project, target.region) == (project, region)
    }
    return {s.name or key: key for key, s in fleet.services.items() if same & {*s.target}}


def where(quota: QuotaSeen) -> str:
    return f"--region={quota.region} --project={quota.project}"


def delete_command(quota: QuotaSeen, service: str) -> str:
    """What removes a service with all its revisions; gcloud asks before it does."""
    return f"gcloud run services delete {service} {where(quota)}"


def request_command(project: str, region: str, pool: Pool, needed: int) -> str:
    """What asks for a larger quota; the API wants an address for an increase."""
    return (
        f"gcloud beta quotas preferences create --service=run.googleapis.com --project={project} "
        f"--quota-id={pool.id} --dimensions=region={region} "
        f'--preferred-value={needed * pool.scale} --email="$(gcloud config get account)"'
    )
