"""Unpacked images: one root per digest, shared by all its instances."""

from __future__ import annotations

import asyncio
import os
import shutil
import tarfile
from pathlib import Path

from meshctl.emulator.images.registry import Registry
from meshctl.emulator.untar import extract


class Roots:
    """Unpacks an image once; later calls find the folder."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self._folder, self._registry = folder, registry
        self._busy: dict[str, asyncio.Lock] = {}
        folder.mkdir(parents=True, exist_ok=True)

    async def unpack(self, digest: str) -> Path:
        """The root of an image that is in the registry."""
        target = self._folder / digest.removeprefix("sha256:")
        async with self._busy.setdefault(digest, asyncio.Lock()):
            if not target.exists():
                await asyncio.to_thread(self._unpack, digest, target)
        return target

    def _unpack(self, digest: str, target: Path) -> None:
        part = target.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for layer in self._registry.manifest(digest)["layers"]:
            with tarfile.open(self._registry.blob(layer["digest"])) as tar:
                extract(tar, part)  # later layers replace files
        os.replace(part, target)


def program(root: Path, workdir: str, path_env: str, name: str) -> Path | None:
    """The file inside the root that argv[0] means, None where there is none or it escapes."""
    if "/" in name:
        places = [name if name.startswith("/") else f"{workdir}/{name}"]
    else:
        places = [f"{folder}/{name}" for folder in path_env.split(":") if folder]
    home = os.path.realpath(root)
    for place in places:
        found = os.path.realpath(os.path.join(home, place.lstrip("/")))
        inside = found.startswith(home + os.sep)
        if inside and os.path.isfile(found) and os.access(found, os.X_OK):
            return Path(home) / os.path.normpath(place.lstrip("/"))
    return None
