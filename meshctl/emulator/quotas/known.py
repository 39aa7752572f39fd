"""The quotas of Cloud Run that are imitated, with the values they have unless set otherwise."""

from __future__ import annotations

from dataclasses import dataclass

SERVICE = "run.googleapis.com"
EVERYWHERE = "default"  # the key of a limit that holds where a region has none of its own
UNLIMITED = -1
# facts s4: where the accelerators are offered.
REGIONS = (
    "asia-south1",
    "asia-south2",
    "asia-southeast1",
    "europe-west1",
    "europe-west4",
    "us-central1",
    "us-east4",
)


@dataclass(frozen=True)
class Quota:
    """One quota; `per_gpu` is how many of its units make one GPU."""

    id: str
    metric: str
    title: str
    default: int
    per_gpu: int = 1
    unit: str = "1"


# facts s4: ids and the first metric are as seen; the other metrics are inferred from it. A first L4
# deployment is granted 3 without zonal redundancy and none with it; 1000 is one RTX, for these
# count in thousandths.
L4 = Quota(
    "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion",
    f"{SERVICE}/nvidia_l4_gpu_allocation_no_zonal_redundancy",
    "Total NVIDIA L4 GPU allocation without zonal redundancy, per project per region",
    3,
)
L4_REDUNDANT = Quota(
    "NvidiaL4GpuAllocPerProjectRegion",
    f"{SERVICE}/nvidia_l4_gpu_allocation",
    "Total NVIDIA L4 GPU allocation with zonal redundancy, per project per region",
    0,
)
RTX = Quota(
    "NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion",
    f"{SERVICE}/nvidia_rtx_pro_6000_gpu_allocation_no_zonal_redundancy",
    "Total NVIDIA RTX PRO 6000 GPU allocation without zonal redundancy, in milli-GPU, per project "
    "per region",
    1000,
    per_gpu=1000,
)
RTX_REDUNDANT = Quota(
    "NvidiaRtxPro6000GpuAllocPerProjectRegion",
    f"{SERVICE}/nvidia_rtx_pro_6000_gpu_allocation",
    "Total NVIDIA RTX PRO 6000 GPU allocation with zonal redundancy, in milli-GPU, per project per "
    "region",
    0,
    per_gpu=1000,
)
# The facts know 40 GiB of memory "in many projects" and also three L4 (16 GiB each at least) in one
# service, which that would refuse. So it is ten times that here, and as much CPU in proportion.
CPU = Quota(
    "CpuAllocPerProjectRegion",
    f"{SERVICE}/cpu_allocation",
    "Total CPU allocation, in milli vCPU, per project per region",
    200_000,
)
MEMORY = Quota(
    "MemAllocPerProjectRegion",
    f"{SERVICE}/mem_allocation",
    "Total memory allocation, in bytes, per project per region",
    400 << 30,
    unit="By",
)
ALL = {q.id: q for q in (CPU, MEMORY, L4, L4_REDUNDANT, RTX, RTX_REDUNDANT)}
# accelerator -> (redundancy off, redundancy on)
GPUS = {"nvidia-l4": (L4, L4_REDUNDANT), "nvidia-rtx-pro-6000": (RTX, RTX_REDUNDANT)}


def default_limits() -> dict[str, dict[str, int]]:
    """The values in force when nothing is set: id -> region or "default" -> value."""
    return {quota.id: {EVERYWHERE: quota.default} for quota in ALL.values()}
