"""What Cloud Run gives out by quota, how much there is of it, and who holds it now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from meshctl.plan.period import Period
from meshctl.plan.release import Template
from meshctl.quantities import show_bytes
from meshctl.spec.model import Service


@dataclass(frozen=True)
class Size:
    """What one instance takes: a GPU or none, thousandths of a processor, bytes of memory."""

    gpu: str | None
    redundant: bool
    cpu_milli: int
    memory_bytes: int


def size_of(template: Template) -> Size:
    """What an instance of a release takes."""
    text = template.cpu
    milli = int(text[:-1]) if text.endswith("m") else round(float(text) * 1000)
    return Size(template.gpu, template.zonal_redundancy, milli, template.memory_bytes)


def size_wanted(service: Service) -> Size:
    """What an instance of a service as it is declared takes."""
    r = service.resources
    return Size(r.gpu, bool(r.gpu) and r.zonal_redundancy, round(r.cpu * 1000), r.memory)


@dataclass(frozen=True)
class Pool:
    """One quota of a project and region, counted in whole GPUs, milli-vCPU or bytes.

    `scale` is how many units of the quota are one of ours; ids and units are those of
    facts/cloud-run section 4.
    """

    id: str
    resource: Literal["gpu", "cpu", "memory"]
    accelerator: str | None = None
    redundant: bool = False
    scale: int = 1

    @property
    def name(self) -> str:
        """What people call it."""
        if self.accelerator is None:
            return {"cpu": "CPU", "memory": "memory"}[self.resource]
        return f"{self.accelerator} {'with' if self.redundant else 'without'} zonal redundancy"

    def takes(self, size: Size) -> int:
        """How much of the pool one instance takes."""
        if self.resource == "gpu":
            return int(size.gpu == self.accelerator and size.redundant == self.redundant)
        return size.cpu_milli if self.resource == "cpu" else size.memory_bytes

    def shown(self, amount: int) -> str:
        """An amount with its unit: `3`, `24 vCPU`, `40 GiB`."""
        if self.resource == "memory":
            return show_bytes(amount)
        return f"{amount / 1000:g} vCPU" if self.resource == "cpu" else str(amount)


_L4, _RTX = "nvidia-l4", "nvidia-rtx-pro-6000"
POOLS = (
    Pool("NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion", "gpu", _L4),
    Pool("NvidiaL4GpuAllocPerProjectRegion", "gpu", _L4, redundant=True),
    Pool("NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion", "gpu", _RTX, scale=1000),
    Pool("NvidiaRtxPro6000GpuAllocPerProjectRegion", "gpu", _RTX, redundant=True, scale=1000),
    Pool("CpuAllocPerProjectRegion", "cpu"),
    Pool("MemAllocPerProjectRegion", "memory"),
)
"""RTX quota counts thousandths of a GPU, L4 quota whole ones."""


def gpu_pool(size: Size) -> Pool | None:
    """The GPU pool an instance draws on."""
    return next((pool for pool in POOLS if pool.resource == "gpu" and pool.takes(size)), None)


@dataclass(frozen=True)
class Limit:
    """How much of a pool there is; None is unknown, and `why` says why, or unlimited."""

    pool: Pool
    value: int | None
    unlimited: bool = False
    why: str = ""


@dataclass(frozen=True)
class Holder:
    """Who may draw on the pools: a revision, or a service as a whole.

    `warm` instances are kept by minimums; `running` is what was measured, None is unknown.
    `asked` is when its last request came, None is none since the window began, or unknown.
    """

    service: str
    revision: str
    size: Size
    warm: int
    max: int
    running: int | None
    asked: Period | None = None
    created: str = ""

    @property
    def holds(self) -> int:
        """Instances that surely count: kept warm, or seen running."""
        return max(self.warm, self.running or 0)


@dataclass(frozen=True)
class QuotaSeen:
    """Limits and holders of one region at one moment.

    `running` is the measured number of instances by service and revision, None where it is
    unknown, and then `why_running` says why; `why_traffic` says why no last request is known.
    """

    project: str
    region: str
    limits: tuple[Limit, ...]
    holders: tuple[Holder, ...]
    running: Mapping[tuple[str, str], int] | None
    why_running: str = ""
    why_traffic: str = ""

    def limit(self, pool: Pool) -> Limit:
        return next(limit for limit in self.limits if limit.pool == pool)

    def drawing(self, pool: Pool) -> tuple[Holder, ...]:
        """Who holds some of a pool now, the largest first."""
        found = [h for h in self.holders if pool.takes(h.size) and h.holds]
        return tuple(sorted(found, key=lambda h: (-h.holds, h.service, h.revision)))

    def in_use(self, pool: Pool) -> int:
        """How much is in use, or at least is where nobody knows what runs."""
        return used(pool, self.holders)

    def free(self, pool: Pool) -> int | None:
        """How much is left at most; None is unknown or without limit."""
        value = self.limit(pool).value
        return None if value is None else max(0, value - self.in_use(pool))


def most_wanted(services: Iterable[Service]) -> dict[Pool, int]:
    """By pool, the most that one of these services may take: gate 1 compares it with the limit."""
    found: dict[Pool, int] = {}
    for service in services:
        for pool in POOLS:
            taken = pool.takes(size_wanted(service)) * service.scaling.max
            found[pool] = max(taken, found.get(pool, 0))
    return found


def used(pool: Pool, holders: Iterable[Holder]) -> int:
    """How much of a pool the holders hold together."""
    return sum(pool.takes(holder.size) * holder.holds for holder in holders)
