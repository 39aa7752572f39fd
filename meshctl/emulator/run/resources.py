"""CPU, memory and GPU shapes: which combinations the API accepts."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import invalid

_UNITS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
GI, MI = 2**30, 2**20
# facts s3: bytes of memory (least, most) by CPU.
MEMORY = {
    1: (0, 4 * GI),
    2: (0, 8 * GI),
    4: (2 * GI, 16 * GI),
    6: (4 * GI, 24 * GI),
    8: (4 * GI, 32 * GI),
}
GPU = "nvidia.com/gpu"
L4, RTX = "nvidia-l4", "nvidia-rtx-pro-6000"


def memory_bytes(text: str, path: str) -> int:
    """Bytes of a quantity such as 512Mi."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGT]i?|Ki)?", text)
    if not match:
        raise invalid(f"{path}: Could not parse Quantity '{text}'.", path)
    return int(float(match.group(1)) * _UNITS[match.group(2) or ""])


def cpus(text: str, path: str) -> float:
    """CPUs of a quantity such as 1000m or 2."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)(m?)", text)
    if not match:
        raise invalid(f"{path}: Could not parse Quantity '{text}'.", path)
    return float(match.group(1)) / (1000 if match.group(2) else 1)


def check(template: dict[str, Any]) -> None:
    """Every container's limits, and the GPU of the template."""
    accelerator = (template.get("nodeSelector") or {}).get("accelerator")
    holders = []
    for index, container in enumerate(template.get("containers", [])):
        path = f"template.containers[{index}].resources.limits"
        limits = (container.get("resources") or {}).get("limits") or {}
        _known(limits, path)
        if GPU in limits:
            holders.append(container)
            continue
        idle = bool((container.get("resources") or {"cpuIdle": True}).get("cpuIdle"))
        _plain(limits, idle, template, path)
    if holders or accelerator:
        _gpu(template, holders, accelerator)
    elif "gpuZonalRedundancyDisabled" in template:
        raise invalid(
            "GPU must be set when GPU redundancy is set.", "template.gpu_zonal_redundancy_disabled"
        )


def _known(limits: dict[str, Any], path: str) -> None:
    for key in limits:
        if key not in ("cpu", "memory", GPU):
            raise invalid(f"{path}: only cpu, memory and {GPU} limits are supported.", path)


def _plain(limits: dict[str, Any], idle: bool, template: dict[str, Any], path: str) -> None:
    cpu = cpus(str(limits.get("cpu", "1")), path)
    memory = memory_bytes(str(limits.get("memory", "512Mi")), path)
    if cpu < 1:
        _fraction(cpu, memory, idle, template, path)
    elif cpu not in MEMORY:
        raise invalid(
            f"{path}: Invalid value specified for cpu. "
            "Must be equal to one of [.08-1], 1, 2, 4, 6, 8.",
            path,
        )
    else:
        _memory(memory, *MEMORY[int(cpu)], path)
    if template.get("executionEnvironment") == "EXECUTION_ENVIRONMENT_GEN2" and memory < 512 * MI:
        raise invalid(f"{path}: memory must be at least 512Mi in gen2.", path)


def _fraction(cpu: float, memory: int, idle: bool, template: dict[str, Any], path: str) -> None:
    """facts s3: less than one CPU needs concurrency 1, request billing and gen1."""
    if cpu < 0.08:
        raise invalid(
            f"{path}: Invalid value specified for cpu. Must be equal to one of [.08-1].", path
        )
    _memory(memory, 0, GI if cpu >= 0.5 else 512 * MI, path)
    if int(template.get("maxInstanceRequestConcurrency") or 1) > 1:
        raise invalid("Total cpu < 1 is not supported with concurrency > 1.", path)
    if template.get("executionEnvironment") == "EXECUTION_ENVIRONMENT_GEN2":
        raise invalid("Total cpu < 1 is not supported with gen2.", path)
    if not idle:
        raise invalid("Total cpu < 1 is not supported with CPU always allocated.", path)


def _memory(memory: int, least: int, most: int, path: str) -> None:
    if not least <= memory <= most:
        raise invalid(
            f"{path}: Invalid value specified for container memory. It must be between "
            f"{least // MI}Mi and {most // MI}Mi for this cpu.",
            path,
        )


def _gpu(template: dict[str, Any], holders: list[dict[str, Any]], accelerator: str | None) -> None:
    """facts s4: the shape of a GPU revision."""
    path = f"template.containers[0].resources.limits[{GPU}]"
    if len(holders) != 1 or str(holders[0]["resources"]["limits"][GPU]) != "1":
        raise invalid("GPU can only be set to 1, on one container.", path)
    if accelerator not in (L4, RTX):
        raise invalid(
            f"Accelerator must be one of {L4}, {RTX}.", "template.node_selector.accelerator"
        )
    if template.get("executionEnvironment") == "EXECUTION_ENVIRONMENT_GEN1":
        raise invalid(
            "Execution environment must be set to gen2 in order to set GPU requirements.", path
        )
    if holders[0]["resources"].get("cpuIdle"):
        raise invalid("CPU throttling must be disabled in order to set GPU requirements.", path)
    limits = holders[0]["resources"]["limits"]
    cpu = cpus(str(limits.get("cpu", "1")), path)
    memory = memory_bytes(str(limits.get("memory", "512Mi")), path)
    (_l4 if accelerator == L4 else _rtx)(cpu, memory, path)


def _l4(cpu: float, memory: int, path: str) -> None:
    if cpu < 4 or memory < 16 * GI:
        raise invalid("For GPU, CPU must be at least 4; memory must be at least 16Gi.", path)
    if cpu not in MEMORY:
        raise invalid("cpu: Must be equal to one of 4, 6, 8.", path)
    _memory(memory, *MEMORY[int(cpu)], path)


def _rtx(cpu: float, memory: int, path: str) -> None:
    if cpu not in range(20, 31, 2):
        raise invalid("cpu: Must be equal to one of 20.0, 22.0, 24.0, 26.0, 28.0, 30.0.", path)
    if not 80 * GI <= memory <= int(cpu) * 4 * GI:
        raise invalid(f"memory must be between 80Gi and {int(cpu) * 4}Gi.", path)
