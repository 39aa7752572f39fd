"""Bucket volumes made readable for one instance.

An instance has no root of its own (the process executor), so nothing can lie at the mount path
itself: the bucket's objects are laid out in a folder of the instance, and its texts lead there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from meshctl.emulator.serve.launch import CannotStart, serving_container
from meshctl.emulator.serve.mounts import Mounts
from meshctl.emulator.storage.objects import Bucket, Store


def lay_out(store: Store, folder: Path, template: dict[str, Any]) -> Mounts:
    """The bucket volumes of a revision as they are now; CannotStart when a bucket does not exist.

    Blocking: read-only volumes are linked, others copied, for what a program writes must not
    change the bucket's own bytes.
    """
    sources = {v["name"]: v["gcs"] for v in template.get("volumes", []) if "gcs" in v}
    rows = serving_container(template).get("volumeMounts", [])
    # Other kinds of volumes are recorded only.
    mounted = [
        (row["mountPath"].rstrip("/"), row["name"]) for row in rows if row["name"] in sources
    ]
    buckets = {name: _bucket(store, name, sources[name]) for _, name in mounted}
    for path, name in sorted(mounted):
        _fill(buckets[name], _place(folder, path), sources[name])
    return Mounts(folder, _led(folder, [path for path, _ in mounted]))


def _place(folder: Path, path: str) -> Path:
    """Laid out as in a root of its own, so that a parent of two mounts holds both."""
    return folder / path.lstrip("/")


def _led(folder: Path, paths: list[str]) -> dict[str, Path]:
    """Where each mount path and each of its parents but / lies."""
    every = {str(p) for path in paths for p in (Path(path), *Path(path).parents)} - {"/"}
    return {path: _place(folder, path) for path in sorted(every)}


def _bucket(store: Store, volume: str, source: dict[str, Any]) -> Bucket:
    bucket = store.buckets.get(source["bucket"])
    if bucket is None:
        raise CannotStart(
            f"Mounting volume '{volume}' failed: bucket '{source['bucket']}' does not exist."
        )
    return bucket


def _fill(bucket: Bucket, place: Path, source: dict[str, Any]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    prefix = _only_dir(source)
    for name, found in sorted(bucket.objects.items()):
        inner = _relative(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if inner is None:
            continue
        target = place / inner
        if name.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        elif not target.exists() and _make_parents(place, target):
            _bring(bucket.data(found), target, linked=bool(source.get("readOnly")))


def _only_dir(source: dict[str, Any]) -> str:
    """The prefix that the mount option only-dir=PREFIX names; all other options are ignored."""
    named = [o.partition("=")[2] for o in source.get("mountOptions", []) if "only-dir=" in o]
    return f"{named[-1].strip('/')}/" if named and named[-1].strip("/") else ""


def _relative(name: str) -> Path | None:
    """The object's name as a path below the mount; None for names that no file can have."""
    parts = name.rstrip("/").split("/")
    if any(part in ("", ".", "..") or "\0" in part or len(part.encode()) > 255 for part in parts):
        return None
    return Path(*parts)


def _make_parents(place: Path, target: Path) -> bool:
    """False where a parent is an object itself: a folder and a file cannot share a name."""
    for parent in reversed(target.relative_to(place).parents):
        if (place / parent).is_file():
            return False
    target.parent.mkdir(parents=True, exist_ok=True)
    return True


def _bring(data: Path, target: Path, linked: bool) -> None:
    if linked:
        os.link(data, target)
    else:
        shutil.copyfile(data, target)
