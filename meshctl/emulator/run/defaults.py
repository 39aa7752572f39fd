"""What the server fills into a template, and what proto3 JSON leaves out (facts s0.2, s1). Pure."""

from __future__ import annotations

import copy
from typing import Any

DEFAULT_PROBE = {"timeoutSeconds": 240, "periodSeconds": 240, "failureThreshold": 1}
"""facts s5: TCP on the port, once, after up to 240 s."""
_KEPT = (
    "gpuZonalRedundancyDisabled",
    "manualInstanceCount",
    "tcpSocket",
    "httpGet",
    "grpc",
    "emptyDir",
)
"""Optional fields keep an explicit false, zero or empty message; they are told from unset."""


def pruned(value: Any) -> Any:
    """Without empty and false values, as proto3 JSON leaves them out (facts s0.2)."""
    if isinstance(value, dict):
        items = {k: pruned(v) for k, v in value.items()}
        return {
            k: v for k, v in items.items() if k in _KEPT or v not in (None, False, 0, "", [], {})
        }
    if isinstance(value, list):
        return [pruned(item) for item in value]
    return value


def filled(template: dict[str, Any], project_number: str) -> dict[str, Any]:
    """The template with the defaults the server shows on read (facts s1)."""
    out = _pruned_template(template)
    out.setdefault("timeout", "300s")
    out.setdefault("serviceAccount", f"{project_number}-compute@developer.gserviceaccount.com")
    containers = out.get("containers", [])
    for container in containers:
        _fill_container(container, serving=len(containers) == 1 or bool(container.get("ports")))
    small = any(_is_small(c) for c in containers)
    # facts s3: concurrency 0 or unset means 80, and 1 below one CPU.
    out.setdefault("maxInstanceRequestConcurrency", 1 if small else 80)
    out["scaling"] = {"maxInstanceCount": 100} | out.get("scaling", {})
    return out


def _pruned_template(template: dict[str, Any]) -> dict[str, Any]:
    """Pruned, but `resources: {}` stays: set without cpuIdle means CPU always on."""
    given = [c.get("resources") is not None for c in template.get("containers", [])]
    out: dict[str, Any] = pruned(copy.deepcopy(template))
    for container, has in zip(out.get("containers", []), given, strict=True):
        if has:
            container.setdefault("resources", {})
    return out


def _fill_container(container: dict[str, Any], serving: bool) -> None:
    # facts s0.2: cpuIdle is true by default only when `resources` is unset.
    resources = container.setdefault("resources", {"cpuIdle": True})
    resources["limits"] = {"cpu": "1000m", "memory": "512Mi"} | resources.get("limits", {})
    if not serving:
        return
    port = container.setdefault("ports", [{"name": "http1", "containerPort": 8080}])[0]
    port.setdefault("name", "http1")
    port.setdefault("containerPort", 8080)
    _fill_probe(container.setdefault("startupProbe", dict(DEFAULT_PROBE)), port["containerPort"])


def _fill_probe(probe: dict[str, Any], port: int) -> None:
    if "httpGet" not in probe and "grpc" not in probe:
        probe.setdefault("tcpSocket", {}).setdefault("port", port)
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("failureThreshold", 3)


def _is_small(container: dict[str, Any]) -> bool:
    cpu = str(container.get("resources", {}).get("limits", {}).get("cpu", "1"))
    try:
        return (float(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)) < 1
    except ValueError:
        return False
