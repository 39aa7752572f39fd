"""Finds the files that can be proved: those that the fleet declares, and those with a manifest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from meshctl.outside.disk import Walk
from meshctl.payloads.manifest import ENDING, Manifest, manifest_path
from meshctl.payloads.verify import Declared
from meshctl.spec.model import Payload

FLEET = "the sha256 that the fleet declares"
TRASH = ".meshctl-trash"
"""The folder beside the payloads into which they are retired."""


def of_payload(name: str, payload: Payload, home: Path) -> list[Declared]:
    """The files that the fleet declares, whether they are there or not."""
    return [
        Declared(home / path, file.bytes, file.sha256, FLEET, payload=name, name=path)
        for path, file in payload.files.items()
    ]


def home_of(name: str, payload: Payload, at: Path | None, base: Path) -> Path:
    """The folder of a payload's files: AT/NAME, where `payload fetch` puts them; without AT that of
    a `file:` source, which is relative to the fleet file's folder, and here for any other."""
    scheme, _, place = payload.source.partition(":")
    if at is not None or scheme != "file":
        return (at or Path()) / name
    only = next(iter(payload.files)) if len(payload.files) == 1 else None
    whole = base / place
    return whole.parent if only and whole.name == only and not whole.is_dir() else whole


def of_file(path: Path) -> Declared:
    """What the manifest of a file says of it; nobody says anything where it has none."""
    found = written_manifest(path)
    if found is None:
        return Declared(path, None, None, "nothing: it has no manifest")
    proved = found.proved_by or "nothing proved it then"
    by = f"its manifest of {found.at[:10]} ({proved})"
    return Declared(path, found.bytes, found.sha256, by, source=found.source)


def with_manifest(folder: Path, walked: Walk) -> Iterator[Declared]:
    """Every file below a folder that has a manifest beside it, gone or not; not those of the trash,
    and none of what is hidden while it is fetched."""
    for one in walked.seen:
        hidden = any(part.startswith(".") for part in one.path.split("/"))
        if one.kind == "file" and one.path.endswith(ENDING) and not hidden:
            yield of_file(folder / one.path.removesuffix(ENDING))


def written_manifest(file: Path) -> Manifest | None:
    """The manifest as it was written, whatever became of its file; None where none can be read."""
    try:
        return Manifest.model_validate_json(manifest_path(file).read_bytes())
    except (OSError, ValidationError):
        return None
