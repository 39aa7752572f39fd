"""Which payloads a live service mounts, read back from its volumes. Pure.

The way back of `delivery.mounts_of`: a mount that is not the folder of a payload has no key.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.plan.delivery import DEFAULT_DIR, MODELS_DIR
from meshctl.plan.release import Mount, Template
from meshctl.spec.registry import ModelEntry


@dataclass(frozen=True)
class Mounted:
    """The mount of each payload, and what no key says; both are empty when nothing is mounted."""

    by_payload: dict[str, Mount]
    problems: tuple[str, ...] = ()


def mounted(template: Template, entries: tuple[ModelEntry, ...]) -> Mounted:
    """The payloads under the mounts. With one of them mounted all have to be: `deliver` is said
    once for a service."""
    if not template.mounts:
        return Mounted({})
    folder = template.environment.get(MODELS_DIR, DEFAULT_DIR).rstrip("/")
    left = {mount.path: mount for mount in template.mounts}
    found: dict[str, Mount] = {}
    problems: list[str] = []
    for payload, files in _files(entries).items():
        mount = left.pop(f"{folder}/{payload}", None)
        if mount is None:
            problems.append(f"payloads.{payload} is not mounted, and others are")
        elif len(files) > 1 and not mount.folder:
            problems.append(f"{_shown(mount)}: several files need a folder of their own")
        else:
            found[payload] = mount
    strange = [f"{_shown(mount)}: no payload of MESH_MODELS" for mount in left.values()]
    return Mounted(found, (*problems, *strange))


def _files(entries: tuple[ModelEntry, ...]) -> dict[str, list[str]]:
    return {
        entry.payload: [file.path for file in entry.files]
        for entry in sorted(entries, key=lambda entry: entry.payload or "")
        if entry.payload is not None
    }


def source_of(mount: Mount, files: list[str]) -> str:
    """The `source` of a payload that lies there: the one file itself where there is only one, for
    the whole bucket has no other name."""
    parts = [mount.bucket, mount.folder, *(files if len(files) == 1 else ())]
    return "gs://" + "/".join(part for part in parts if part)


def _shown(mount: Mount) -> str:
    return f"mounts.{mount.path} (gs://{mount.bucket}/{mount.folder})"
