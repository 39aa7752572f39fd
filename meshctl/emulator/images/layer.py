"""Layers: deterministic tar files, equal contents stored once as hard links."""

from __future__ import annotations

import filecmp
import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_CHUNK = 1 << 20


class _Hashing:
    """A file that hashes what is written to it, so that a layer is hashed once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.hash, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Pass on and count."""
        self.hash.update(data)
        self.size += len(data)
        return self._file.write(data)


class Layer:
    """Files to be put under names in one layer; call `write` once."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._folders: dict[str, int] = {}

    def add_file(self, name: str, path: Path) -> None:
        """A regular file or a symbolic link, under its name inside the image."""
        self._parents(name)
        self._files[name] = path

    def add_folder(self, name: str, mode: int = 0o755) -> None:
        """A folder under its name inside the image."""
        self._parents(name)
        if name:
            self._folders[name] = mode

    def _parents(self, name: str) -> None:
        parts = name.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            self._folders.setdefault("/".join(parts[:end]), 0o755)

    def write(self, blobs: Path) -> tuple[str, int]:
        """Write the layer into the blobs; digest and bytes. One already there is left alone."""
        handle, name = tempfile.mkstemp(prefix=".layer-", dir=blobs)
        with os.fdopen(handle, "wb") as file:
            out = _Hashing(file)
            self._write_tar(out)
        target = blobs / out.hash.hexdigest()
        if target.exists():
            os.unlink(name)
        else:
            os.chmod(name, 0o644)
            os.replace(name, target)
        return "sha256:" + target.name, out.size

    def _write_tar(self, out: Any) -> None:
        with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for name, mode in sorted(self._folders.items()):
                tar.addfile(_info(name, tarfile.DIRTYPE, mode))
            for name, path, first in _linked(sorted(self._files.items())):
                _add(tar, name, path, first)


def _linked(files: list[tuple[str, Path]]) -> Iterator[tuple[str, Path, str | None]]:
    """Each file with the name of an earlier one of equal content and mode, if any.

    Only files of equal size are compared; the same inode needs no reading at all.
    """
    seen: dict[tuple[int, int], list[tuple[str, Path, os.stat_result]]] = {}
    for name, path in files:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
            yield name, path, None
            continue
        rows = seen.setdefault((info.st_size, stat.S_IMODE(info.st_mode)), [])
        first = next((n for n, p, s in rows if _same(path, info, p, s)), None)
        if first is None:
            rows.append((name, path, info))
        yield name, path, first


def _same(path: Path, info: os.stat_result, other: Path, known: os.stat_result) -> bool:
    if (info.st_ino, info.st_dev) == (known.st_ino, known.st_dev):
        return True
    return filecmp.cmp(path, other, shallow=False)


def _info(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    """A member without time, owner or group: the same context gives the same digest."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = kind, mode, 0
    return info


def _add(tar: tarfile.TarFile, name: str, path: Path, first: str | None) -> None:
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        info = _info(name, tarfile.SYMTYPE, 0o777)
        info.linkname = os.readlink(path)
        tar.addfile(info)
    elif first is not None:
        info = _info(name, tarfile.LNKTYPE, mode)
        info.linkname = first
        tar.addfile(info)
    else:
        info = _info(name, tarfile.REGTYPE, mode)
        info.size = found.st_size
        with path.open("rb") as file:
            tar.addfile(info, file)
