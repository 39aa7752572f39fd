"""What a live service stands on, as entries of a fleet file: image, payloads, target. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from meshctl.plan.delivery import folder_of
from meshctl.plan.mounted import Mounted, source_of
from meshctl.plan.release import Mount
from meshctl.spec.model import CloudRunTarget, Fleet, Payload, PayloadFile
from meshctl.spec.registry import ModelEntry
from meshctl.spec.sources import file_source, parse_source

Entries = dict[str, dict[str, Any]]


def image(reference: str, fleet: Fleet | None) -> tuple[str, Entries]:
    """The image under the name the fleet has for exactly it, or under a new one."""
    known = fleet.images if fleet else {}
    for name, found in known.items():
        if found.ref == reference:
            return name, {}
    repository = reference.partition("@")[0].rpartition("/")[2].partition(":")[0]
    name = free_name(re.sub(r"[^A-Za-z0-9._-]", "-", repository) or "image", known)
    return name, {name: {"ref": reference}}


def free_name(wanted: str, taken: Mapping[str, object]) -> str:
    """The name, or with the first number behind it that nobody has."""
    candidates = (wanted if n == 1 else f"{wanted}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)


def payloads(
    reference: str, models: tuple[ModelEntry, ...], mounts: Mounted, fleet: Fleet | None
) -> tuple[Entries, list[str]]:
    """The payloads of the models that the fleet does not have, and in what it has others. Where
    those in an image once came from nobody can see."""
    known = fleet.payloads if fleet else {}
    found: Entries = {}
    clashes: list[str] = []
    for entry in models:
        if entry.payload is None:
            continue
        mount = mounts.by_payload.get(entry.payload)
        files = {f.path: {"bytes": f.bytes, "sha256": f.sha256} for f in entry.files}
        if entry.payload in known:
            clashes += _clashes(entry.payload, known[entry.payload], files, mount)
            clashes += _elsewhere(entry, known[entry.payload])
        else:
            fetched = fetched_from(entry)
            image_or_mount = source_of(mount, list(files)) if mount else f"image:{reference}"
            source = fetched or image_or_mount
            found[entry.payload] = {"source": source, "files": files}
    return found, clashes


def _clashes(
    name: str, known: Payload, files: dict[str, Any], mount: Mount | None
) -> Iterator[str]:
    if known.files != {path: PayloadFile.model_validate(file) for path, file in files.items()}:
        yield f"payloads.{name}: the fleet has other files"
    elif mount and _folder_of(known) != (mount.bucket, mount.folder):
        there = source_of(mount, list(files))
        yield f"payloads.{name}: the fleet has it at {known.source}, not at {there}"


def fetched_from(entry: ModelEntry) -> str | None:
    """The source of a payload that the mesh fetches: its only file, or the folder of its files;
    None where it fetches none."""
    first = entry.files[0] if entry.files else None
    if first is None or first.source is None:
        return None
    return first.source if len(entry.files) == 1 else first.source.removesuffix(f"/{first.path}")


def _elsewhere(entry: ModelEntry, known: Payload) -> Iterator[str]:
    source = parse_source(known.source)
    for file in entry.files:
        if file.source and file.source != file_source(source, known.files, file.path):
            there = f"at {known.source}, not at {file.source}"
            yield f"payloads.{entry.payload}: the fleet has {file.path} {there}"


def _folder_of(payload: Payload) -> tuple[str, str] | None:
    """Bucket and folder; None where it lies in no bucket that can be mounted."""
    source, folder = folder_of(payload)
    return (source.place, folder) if source.scheme == "gs" else None


def place(target: CloudRunTarget) -> dict[str, Any]:
    """The entry of a region."""
    found: dict[str, Any] = {
        "kind": "cloudrun", "project": target.project, "region": target.region
    }  # fmt: skip
    found |= {"emulator": target.emulator} if target.emulator else {}
    return found | ({"account": target.account} if target.account else {})
