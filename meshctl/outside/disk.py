"""Looks at a folder as it lies on the disk: real blocks, hard links, and links not followed."""

from __future__ import annotations

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from meshctl.errors import UsageError

BLOCK = 512
"""Bytes of one of `st_blocks`, whatever the blocks of the filesystem are (POSIX stat)."""


@dataclass(frozen=True)
class Seen:
    """One file or link below a folder. `bytes` is what it says it is, `real` what it takes: a
    sparse file takes less. `names` counts its hard links, also those elsewhere."""

    path: str
    kind: Literal["file", "link", "other"]
    bytes: int
    real: int
    mtime_ns: int
    device: int
    inode: int
    names: int

    @property
    def identity(self) -> tuple[int, int]:
        """Two paths with the same one are the same file."""
        return self.device, self.inode


@dataclass(frozen=True)
class Walk:
    """What lies below a folder, sorted by path, and the folders in it that could not be read."""

    seen: tuple[Seen, ...]
    unreadable: tuple[str, ...]


def walk(root: Path) -> Walk:
    """Everything below `root`. Raises UsageError where that is no folder."""
    if not root.is_dir():
        raise UsageError(
            "there is no such folder", place=str(root), hint="name another one with --at DIR"
        )
    seen: list[Seen] = []
    unreadable: list[str] = []
    folders = [""]
    while folders:
        _folder(root, folders.pop(), seen, folders, unreadable)
    return Walk(tuple(sorted(seen, key=lambda one: one.path)), tuple(sorted(unreadable)))


def _folder(
    root: Path, prefix: str, seen: list[Seen], folders: list[str], unreadable: list[str]
) -> None:
    try:
        found = list(os.scandir(root / prefix))
    except OSError:
        unreadable.append(prefix or ".")
        return
    for item in found:
        path = prefix + item.name
        if item.is_dir(follow_symlinks=False):
            folders.append(f"{path}/")
        elif (one := look(root, path)) is not None:
            seen.append(one)


def look(root: Path, path: str) -> Seen | None:
    """One file below a folder, not followed where it is a link; None where there is none."""
    try:
        found = (root / path).lstat()
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    kind: Literal["file", "link", "other"] = "other"
    if stat.S_ISREG(found.st_mode):
        kind = "file"
    elif stat.S_ISLNK(found.st_mode):
        kind = "link"
    return Seen(
        path=path, kind=kind, bytes=found.st_size, real=found.st_blocks * BLOCK,
        mtime_ns=found.st_mtime_ns, device=found.st_dev, inode=found.st_ino, names=found.st_nlink,
    )  # fmt: skip


def room(folder: Path) -> tuple[int, int]:
    """Bytes of the filesystem, and those that it still takes."""
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on a file, as a fetch holds the one on its partial."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def printable(path: str | Path) -> str:
    """A path as text that every document takes: bytes that are no UTF-8 as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
