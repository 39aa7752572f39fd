"""Tells what `payload fetch` wrote from what is somebody else's, and removes only the former.

A folder of models may be shared with people: one of them lost a project to a cache that took every
folder with a file called *.manifest.json for its own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

ENDING = ".manifest.json"
"""How payloads/manifest.py calls what it writes beside a fetched file."""
KIND = "payload-manifest/v1"
LARGEST_MANIFEST = 65_536


def sha256_of(file: Path) -> str | None:
    """What a fetched file hashed to, as its manifest says; None where there is none of ours."""
    manifest = file.with_name(file.name + ENDING)
    try:
        if manifest.stat().st_size > LARGEST_MANIFEST:
            return None
        known = json.loads(manifest.read_bytes())
        return str(known["sha256"]) if known["kind"] == KIND else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_ours(folder: Path) -> bool:
    """Every file in it was fetched, or is part of one that was being fetched."""
    files = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
    return bool(files) and set(files) == set(fetched_in(folder))


def fetched_in(folder: Path) -> Iterator[Path]:
    """What was written here by fetching: files with their manifests, and partial ones."""
    for path in folder.rglob("*"):
        if path.name.endswith(ENDING):
            file = path.with_name(path.name.removesuffix(ENDING))
            if sha256_of(file):
                yield path
                if file.is_file():
                    yield file
        elif path.name.startswith(".") and path.name.endswith((".part", ".part.json")):
            yield path


def remove(folder: Path) -> None:
    """What is ours of it: whole under another name first, so that nobody finds half of it."""
    if not is_ours(folder):
        for path in [*fetched_in(folder)]:
            path.unlink(missing_ok=True)
        return
    aside = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(aside, ignore_errors=True)
    folder.replace(aside)
    shutil.rmtree(aside, ignore_errors=True)
