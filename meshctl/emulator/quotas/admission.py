"""Gate 1: what a revision may ask for under the limits of its region."""

from __future__ import annotations

from typing import Any

from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.quotas import known
from meshctl.emulator.quotas.known import EVERYWHERE, UNLIMITED, Quota
from meshctl.emulator.run import resources
from meshctl.emulator.settings import Settings

_MANY = 100  # facts s3: the maximum of a revision that names none


def limit(settings: Settings, quota: Quota, region: str) -> int:
    """The value in force in a region, in the quota's own unit; -1 is unlimited."""
    rows = settings.quota_limits.get(quota.id, {})
    return rows.get(region, rows.get(EVERYWHERE, quota.default))


def gpus_allowed(settings: Settings, quota: Quota, region: str) -> int | None:
    """Whole GPUs, None for any number."""
    value = limit(settings, quota, region)
    return None if value == UNLIMITED else value // quota.per_gpu


def gpu_quota(template: dict[str, Any]) -> Quota | None:
    """The quota that a GPU of this template counts against (facts s4: unset = redundancy ON)."""
    accelerator = (template.get("nodeSelector") or {}).get("accelerator")
    pair = known.GPUS.get(accelerator or "")
    return pair[0 if template.get("gpuZonalRedundancyDisabled") else 1] if pair else None


def with_maximum(
    settings: Settings, region: str, given: dict[str, Any], template: dict[str, Any]
) -> dict[str, Any]:
    """The filled template with the maximum that the server chooses where the scaling gives none.

    facts s1, s3: 100 when nothing is asked, shown "when chosen". That it is lowered to what the
    pools have room for is inferred: every default deployment works in projects with small pools.
    """
    if given.get("maxInstanceCount") or gpu_quota(template) is not None:
        return template
    rooms = [_room(limit(settings, q, region), n) for q, n in _appetite(template)]
    chosen = max(1, min([_MANY, *rooms]))
    return template | {"scaling": template.get("scaling", {}) | {"maxInstanceCount": chosen}}


def _room(value: int, each: int) -> int:
    """How many instances of this size fit."""
    return _MANY if value == UNLIMITED or not each else value // each


def _appetite(template: dict[str, Any]) -> list[tuple[Quota, int]]:
    """What one instance takes of each pool: milli-vCPU, bytes."""
    cpu = memory = 0
    for container in template.get("containers", []):
        limits = (container.get("resources") or {}).get("limits") or {}
        cpu += round(resources.cpus(str(limits.get("cpu", "1")), "cpu") * 1000)
        memory += resources.memory_bytes(str(limits.get("memory", "512Mi")), "memory")
    return [(known.CPU, cpu), (known.MEMORY, memory)]


def admit(settings: Settings, region: str, service: dict[str, Any]) -> None:
    """Refuse (400) a maximum above a limit; facts s4: per service, never summed over services."""
    template = service["template"]
    most, field = _maximum(settings, service.get("scaling", {}), template)
    gpu = gpu_quota(template)
    if gpu is not None:
        _admit_gpus(gpu, most, gpus_allowed(settings, gpu, region), field)
    for quota, each in _appetite(template):
        _admit_pool(quota, most, each, limit(settings, quota, region), field)


def _maximum(
    settings: Settings, scaling: dict[str, Any], template: dict[str, Any]
) -> tuple[int, str]:
    """The instances this revision may come to, and the field to blame for it.

    Which path v2 names is open (facts s4, s13), hence a setting; the service level's own path is
    the counterpart of v1's metadata.annotations[run.googleapis.com/maxScale].
    """
    own = int((template.get("scaling") or {}).get("maxInstanceCount") or _MANY)
    service = int(scaling.get("maxInstanceCount") or 0)
    if 0 < service < own:
        return service, "scaling.max_instance_count"
    return own, settings.quota_violation_field


def _admit_gpus(quota: Quota, asked: int, allowed: int | None, field: str) -> None:
    if allowed is None or asked <= allowed:
        return
    if allowed == 0:
        redundancy = "without" if quota in (known.L4, known.RTX) else "with"
        raise invalid(
            f"You do not have quota for using GPUs {redundancy} zonal redundancy. Learn more about "
            "GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help. Request quota: "
            "g.co/cloudrun/gpu-quota",
            field,
        )
    text = f"{allowed} or fewer in order to set GPU requirements"
    raise _too_many(text, f"{quota.id} requested: {asked} allowed: {allowed}", field)


def _admit_pool(quota: Quota, asked: int, each: int, value: int, field: str) -> None:
    if value == UNLIMITED or asked * each <= value:
        return
    what = "memory" if quota is known.MEMORY else "CPU"
    text = f"{value // each} or fewer to set the requested total {what}"
    raise _too_many(text, f"{quota.id} requested: {asked * each} allowed: {value}", field)


def _too_many(fewer: str, violated: str, field: str) -> ApiError:
    """facts s4: the sentence, then the quotas that are violated, one a line."""
    return invalid(f"Max instances must be set to {fewer}.\nQuota violated:\n{violated}", field)
