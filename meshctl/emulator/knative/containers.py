"""Containers in the spelling of v1, and back (facts s3, s5, s10). Pure."""

from __future__ import annotations

import copy
from typing import Any

from meshctl.emulator.failures import invalid

Json = dict[str, Any]
_SAME = ("name", "image", "command", "args", "workingDir", "ports", "volumeMounts")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def to_v1(container: Json) -> Json:
    """A v2 container as v1 shows it."""
    out = {key: copy.deepcopy(container[key]) for key in (*_SAME, *_PROBES) if key in container}
    if env := [_variable_v1(row) for row in container.get("env", [])]:
        out["env"] = env
    out["resources"] = {"limits": dict(container.get("resources", {}).get("limits", {}))}
    return out


def to_v2(container: Json, resources: Json, path: str) -> Json:
    """A v1 container as v2 takes it; what v2 says beside the limits comes from the template.

    ApiError 400 for a key that has no place in v2.
    """
    known = (*_SAME, *_PROBES, "env", "resources", "securityContext", "terminationMessagePath")
    for key in container:
        if key not in known:
            raise invalid(f'Cannot find field: "{key}".', f"{path}.{key}")
    out = {key: copy.deepcopy(container[key]) for key in (*_SAME, *_PROBES) if key in container}
    if container.get("env"):
        out["env"] = [_variable_v2(row, path) for row in container["env"]]
    limits = (container.get("resources") or {}).get("limits") or {}
    out["resources"] = {**resources, "limits": {key: str(value) for key, value in limits.items()}}
    return out


def _variable_v1(row: Json) -> Json:
    source = row.get("valueSource", {}).get("secretKeyRef")
    if source is None:
        return {"name": row["name"], "value": row.get("value", "")}
    ref = {"name": source["secret"], "key": source.get("version", "latest")}
    return {"name": row["name"], "valueFrom": {"secretKeyRef": ref}}


def _variable_v2(row: Json, path: str) -> Json:
    ref = (row.get("valueFrom") or {}).get("secretKeyRef")
    if ref is None:
        return {"name": row.get("name", ""), "value": row.get("value", "")}
    if "name" not in ref or "key" not in ref:
        raise invalid("A secretKeyRef needs a name and a key.", f"{path}.env")
    source = {"secretKeyRef": {"secret": ref["name"], "version": ref["key"]}}
    return {"name": row.get("name", ""), "valueSource": source}
