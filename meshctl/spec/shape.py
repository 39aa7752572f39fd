"""The shapes of an instance that Cloud Run takes: processors, memory, accelerator, probe. Pure.

The numbers are Cloud Run's own, from its pages on CPU, memory, GPU and health checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.quantities import show_bytes, show_seconds
from meshctl.spec.model import Probe, Resources, Service
from meshctl.spec.tree import Complaint

GIB = 2**30
MIB = 2**20
CPU = (1.0, 2.0, 4.0, 6.0, 8.0)
"""Whole processors; below one any number from 0.08 is taken."""
MEMORY = {
    1.0: (512 * MIB, 4 * GIB),
    2.0: (512 * MIB, 8 * GIB),
    4.0: (2 * GIB, 16 * GIB),
    6.0: (4 * GIB, 24 * GIB),
    8.0: (4 * GIB, 32 * GIB),
}
"""Least and most memory by processors, second generation."""
GPU_CPU = {
    "nvidia-l4": (4.0, 6.0, 8.0),
    "nvidia-rtx-pro-6000": (20.0, 22.0, 24.0, 26.0, 28.0, 30.0),
}
GPU_LEAST_MEMORY = {"nvidia-l4": 16 * GIB, "nvidia-rtx-pro-6000": 80 * GIB}
STARTUP_SECONDS = 600.0
STARTUP_SECONDS_GPU = 1800.0
"""Longest time the startup probe may give an instance: failures times period."""


def check_shape(service: Service) -> Iterator[Complaint]:
    """What Cloud Run would refuse about one instance; paths begin at the service."""
    wrong = list(_processors(service.resources))
    yield from wrong or _memory(service.resources)
    if service.resources.zonal_redundancy and service.resources.gpu is None:
        message = "zonal redundancy is of the accelerator, and there is none"
        yield Complaint("resources.zonal_redundancy", message, "set gpu, or leave it out")
    if service.resources.cpu < 1 and service.scaling.concurrency != 1:
        message = f"with less than one processor it must be 1, not {service.scaling.concurrency}"
        yield Complaint("scaling.concurrency", message, "set it to 1, or cpu to 1")
    if service.scaling.min > service.scaling.max:
        message = f"min {service.scaling.min} is more than max {service.scaling.max}"
        yield Complaint("scaling.min", message, "min may be at most max")
    yield from _probe(service.probe, service.resources.gpu is not None)


def _processors(resources: Resources) -> Iterator[Complaint]:
    """With none of these there is no memory that would go with them, so nothing is said of it."""
    allowed = GPU_CPU[resources.gpu] if resources.gpu else CPU
    if resources.cpu in allowed or (resources.cpu < 1 and not resources.gpu):
        return
    words = ", ".join(f"{cpu:g}" for cpu in allowed)
    given = f"with {resources.gpu} " if resources.gpu else "0.08 up to 1, or "
    are = "is" if resources.cpu == 1 else "are"
    message = f"{_cpus(resources.cpu)} {are} not offered: {given}{words}"
    yield Complaint("resources.cpu", message, "choose one of these")


def _memory(resources: Resources) -> Iterator[Complaint]:
    low, high = memory_range(resources)
    if low <= resources.memory <= high:
        return
    with_gpu = f" and {resources.gpu}" if resources.gpu else ""
    band = f"between {show_bytes(low)} and {show_bytes(high)}" if low < high else show_bytes(low)
    message = (
        f"{show_bytes(resources.memory)} do not go with {_cpus(resources.cpu)}{with_gpu}: "
        f"it must be {band}"
    )
    yield Complaint("resources.memory", message, "change the memory, or the processors")


def _cpus(cpu: float) -> str:
    return f"{cpu:g} processor{'' if cpu == 1 else 's'}"


def memory_range(resources: Resources) -> tuple[int, int]:
    """Least and most memory in bytes for these processors and this accelerator."""
    if resources.gpu == "nvidia-rtx-pro-6000":
        return GPU_LEAST_MEMORY[resources.gpu], max(int(resources.cpu * 4 * GIB), 80 * GIB)
    if resources.cpu < 1:
        return 1, 512 * MIB if resources.cpu < 0.5 else GIB
    step = max(cpu for cpu in CPU if cpu <= resources.cpu)
    low, high = MEMORY[step]
    if resources.gpu:
        low = GPU_LEAST_MEMORY[resources.gpu]
    return low, max(low, high)


def _probe(probe: Probe, has_gpu: bool) -> Iterator[Complaint]:
    if probe.path is not None and not probe.path.startswith("/"):
        yield Complaint("probe.path", "the path must begin with a slash", "write /health")
    for key, seconds in (("period", probe.period), ("timeout", probe.timeout)):
        if seconds != int(seconds):
            yield Complaint(f"probe.{key}", f"{seconds:g}s is not a whole number of seconds", "")
    if probe.timeout > probe.period:
        tried, period = show_seconds(probe.timeout), show_seconds(probe.period)
        message = f"timeout {tried} is longer than period {period}"
        yield Complaint("probe.timeout", message, "a try must end before the next one begins")
    most = STARTUP_SECONDS_GPU if has_gpu else STARTUP_SECONDS
    if probe.failures * probe.period > most:
        given = f"{probe.failures} times {show_seconds(probe.period)}"
        message = f"{given} is more than {show_seconds(most)}, the longest start that is waited for"
        yield Complaint("probe.failures", message, "fewer failures, or a shorter period")
