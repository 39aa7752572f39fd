"""Refusals of health checks: their one action, their ranges, their budget (facts s5)."""

from __future__ import annotations

from typing import Any

from meshctl.emulator.failures import invalid

STARTUP, LIVENESS, READINESS = "startupProbe", "livenessProbe", "readinessProbe"
LARGEST = {
    STARTUP: {"initialDelaySeconds": 240, "timeoutSeconds": 240, "periodSeconds": 240},
    LIVENESS: {"initialDelaySeconds": 3600, "timeoutSeconds": 3600, "periodSeconds": 3600},
    READINESS: {"initialDelaySeconds": 0, "timeoutSeconds": 300, "periodSeconds": 300},
}
"""Seconds. facts s5 for startup and readiness, the run_v2 Probe for liveness."""
BUDGET_S, GPU_BUDGET_S = 600, 1800
_ACTIONS = ("httpGet", "tcpSocket", "grpc")


def check(container: dict[str, Any], path: str, on_gpu: bool) -> None:
    """The probes of one container; ApiError 400."""
    for kind, largest in LARGEST.items():
        probe = container.get(kind)
        if probe:
            _probe(probe, largest, f"{path}.{kind}")
    _budget(container.get(STARTUP) or {}, f"{path}.{STARTUP}", GPU_BUDGET_S if on_gpu else BUDGET_S)
    if "tcpSocket" in (container.get(LIVENESS) or {}):
        raise invalid(f"{path}.{LIVENESS}: tcp_socket is not supported.", f"{path}.{LIVENESS}")


def _probe(probe: dict[str, Any], largest: dict[str, int], path: str) -> None:
    if sum(action in probe for action in _ACTIONS) != 1:
        raise invalid(f"{path}: Exactly one probe action must be set.", path)
    for key, most in largest.items():
        if not 0 <= probe.get(key, 0) <= most:
            raise invalid(f"{path}.{key} must be between 0 and {most}.", f"{path}.{key}")
    if probe.get("failureThreshold", 1) < 0:
        raise invalid(f"{path}.failureThreshold must be at least 1.", f"{path}.failureThreshold")
    if (probe.get("timeoutSeconds") or 1) > (probe.get("periodSeconds") or 10):
        raise invalid(f"{path}: timeout_seconds must not exceed period_seconds.", path)


def _budget(probe: dict[str, Any], path: str, most: int) -> None:
    """Threshold times period is bounded: the time a container has to get ready."""
    if (probe.get("failureThreshold") or 3) * (probe.get("periodSeconds") or 10) > most:
        raise invalid(
            f"{path}: failure_threshold * period_seconds must not exceed {most} seconds.", path
        )
