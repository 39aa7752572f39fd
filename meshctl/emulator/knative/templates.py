"""The template of a revision in the spelling of v1, and back (facts s3, s4, s10). Pure."""

from __future__ import annotations

from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.knative import containers, spelling, volumes

Json = dict[str, Any]
ACCELERATOR = "run.googleapis.com/accelerator"
_SPEC = (
    "containers",
    "containerConcurrency",
    "timeoutSeconds",
    "serviceAccountName",
    "nodeSelector",
    "volumes",
    "enableServiceLinks",
)


def to_v1(template: Json) -> Json:
    """A v2 template, or a revision, as v1's `template` of metadata and spec."""
    metadata: Json = {"annotations": template_annotations(template)}
    if template.get("labels"):
        metadata["labels"] = dict(template["labels"])
    if template.get("revision"):
        metadata["name"] = template["revision"]
    return {"metadata": metadata, "spec": spec_v1(template)}


def template_annotations(template: Json) -> dict[str, str]:
    """Scaling, generation and the like, and what v2 keeps with the containers."""
    out = spelling.annotations_of(template, spelling.TEMPLATE)
    resources = [container.get("resources", {}) for container in template.get("containers", [])]
    if resources and not any(row.get("cpuIdle") for row in resources):
        out[spelling.THROTTLED] = "false"
    if any(row.get("startupCpuBoost") for row in resources):
        out[spelling.BOOST] = "true"
    return out


def spec_v1(template: Json) -> Json:
    """The `spec` of a v1 template or revision."""
    spec: Json = {
        "containerConcurrency": template.get("maxInstanceRequestConcurrency", 80),
        "timeoutSeconds": int(float(str(template.get("timeout", "300s")).rstrip("s"))),
        "serviceAccountName": template.get("serviceAccount", ""),
        "containers": [containers.to_v1(row) for row in template.get("containers", [])],
    }
    if template.get("volumes"):
        spec["volumes"] = volumes.to_v1(template["volumes"])
    if accelerator := (template.get("nodeSelector") or {}).get("accelerator"):
        spec["nodeSelector"] = {ACCELERATOR: accelerator}
    return spec


def to_v2(template: Json, path: str) -> Json:
    """v1's `template` as v2 takes it; ApiError 400 for what v2 has no word for."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    if not spec:
        raise invalid("Revision template was empty", f"{path}.spec")
    for key in spec:
        if key not in _SPEC:
            raise invalid(f'Cannot find field: "{key}".', f"{path}.spec.{key}")
    notes = metadata.get("annotations") or {}
    out = spelling.fields_of(notes, spelling.TEMPLATE, f"{path}.metadata.annotations")
    out |= _identity(metadata) | _spec_v2(spec)
    resources = _resources(notes)
    out["containers"] = [
        containers.to_v2(row, resources, f"{path}.spec.containers[{index}]")
        for index, row in enumerate(spec.get("containers", []))
    ]
    if spec.get("volumes"):
        out["volumes"] = list(volumes.to_v2(spec["volumes"], f"{path}.spec.volumes"))
    return out


def _identity(metadata: Json) -> Json:
    out: Json = {"revision": metadata["name"]} if metadata.get("name") else {}
    return out | ({"labels": dict(metadata["labels"])} if metadata.get("labels") else {})


def _spec_v2(spec: Json) -> Json:
    out: Json = {}
    if spec.get("containerConcurrency"):
        out["maxInstanceRequestConcurrency"] = int(spec["containerConcurrency"])
    if spec.get("timeoutSeconds"):
        out["timeout"] = f"{int(spec['timeoutSeconds'])}s"
    if spec.get("serviceAccountName"):
        out["serviceAccount"] = spec["serviceAccountName"]
    if accelerator := (spec.get("nodeSelector") or {}).get(ACCELERATOR):
        out["nodeSelector"] = {"accelerator": accelerator}
    return out


def _resources(notes: dict[str, str]) -> Json:
    """v1 throttles unless told otherwise; v2 wants it said where resources are set (facts s0.2)."""
    return {
        "cpuIdle": notes.get(spelling.THROTTLED, "true").lower() != "false",
        "startupCpuBoost": notes.get(spelling.BOOST, "false").lower() == "true",
    }
