"""Volumes of a template and where its containers mount them: which ones the API accepts."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from meshctl.emulator.failures import invalid

_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
_BUCKET = re.compile(r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$")
_KINDS = ("gcs", "secret", "emptyDir", "nfs", "cloudSqlInstance")
_SYSTEM = ("/dev", "/proc", "/sys")


def check(template: dict[str, Any]) -> None:
    """Refuse (400) a volume that is none, a bucket that cannot be one, a mount without volume."""
    names: list[str] = []
    for index, volume in enumerate(template.get("volumes", [])):
        path = f"template.volumes[{index}]"
        _check_volume(volume, path)
        if volume["name"] in names:
            raise invalid(f"{path}.name: '{volume['name']}' is used twice.", f"{path}.name")
        names.append(volume["name"])
    if any("gcs" in volume for volume in template.get("volumes", [])):
        _needs_gen2(template)
    for index, container in enumerate(template.get("containers", [])):
        _check_mounts(container, names, f"template.containers[{index}]")


def _check_volume(volume: dict[str, Any], path: str) -> None:
    if not _NAME.match(volume.get("name", "")):
        raise invalid(f"{path}.name must be a valid RFC 1123 name.", f"{path}.name")
    if sum(kind in volume for kind in _KINDS) != 1:
        raise invalid(f"{path}: exactly one volume source must be set.", path)
    if "gcs" in volume:
        _check_gcs(volume["gcs"], f"{path}.gcs")


def _check_gcs(source: dict[str, Any], path: str) -> None:
    if not _BUCKET.match(source.get("bucket", "")):
        raise invalid(f"{path}.bucket must name a Cloud Storage bucket.", f"{path}.bucket")
    if any(not option or option.startswith("-") for option in source.get("mountOptions", [])):
        raise invalid(f"{path}.mount_options are flags without dashes.", f"{path}.mount_options")


def _needs_gen2(template: dict[str, Any]) -> None:
    if template.get("executionEnvironment") == "EXECUTION_ENVIRONMENT_GEN1":
        raise invalid(
            "Execution environment must be set to gen2 in order to mount Cloud Storage buckets.",
            "template.execution_environment",
        )


def _check_mounts(container: dict[str, Any], names: list[str], path: str) -> None:
    taken: list[str] = []
    for index, mount in enumerate(container.get("volumeMounts", [])):
        here = f"{path}.volume_mounts[{index}]"
        if mount.get("subPath"):
            raise invalid(f"{here}.sub_path is not supported by this server.", f"{here}.sub_path")
        if mount.get("name") not in names:
            raise invalid(f"{here}.name: no volume '{mount.get('name')}'.", f"{here}.name")
        taken.append(_mount_path(mount.get("mountPath", ""), taken, f"{here}.mount_path"))


def _mount_path(given: str, taken: list[str], path: str) -> str:
    clean = given.rstrip("/")
    if not clean.startswith("/") or clean != posixpath.normpath(clean) or clean.startswith("//"):
        raise invalid(f"{path} must be an absolute path other than /.", path)
    if any(clean == system or clean.startswith(f"{system}/") for system in _SYSTEM):
        raise invalid(f"{path}: {', '.join(_SYSTEM)} cannot be mounted over.", path)
    if clean in taken:
        raise invalid(f"{path}: '{clean}' is mounted twice.", path)
    return clean
