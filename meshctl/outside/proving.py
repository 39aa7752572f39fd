"""Reads a whole file for its sha256, at the speed of the disk, and notices when it changes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from meshctl.errors import Refused, UsageError
from meshctl.outside.ranges import Changed, Missing

READ = 2**20
"""Bytes of one reading: they stay in the cache of a core between the copy and the hash."""


def size_of(path: Path) -> int:
    """Bytes of a file; links are followed. Raises Missing, Refused, UsageError for no file."""
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise Missing("it is missing", place=str(path), hint="fetch it") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for ever
        raise UsageError("it is no file", place=str(path), hint="name a file in it")
    return found.st_size


def sha256_of(path: Path, tell: Callable[[int], None]) -> str:
    """Lowercase hex digest; `tell` hears of each reading how many bytes it was, and may raise.

    hashlib lets go of the interpreter's lock, so several threads use several cores. Raises Missing,
    Changed, UsageError, Refused.
    """
    size_of(path)
    digest, buffer = hashlib.sha256(), bytearray(READ)
    view = memoryview(buffer)
    try:
        with path.open("rb", buffering=0) as file:
            before = _state(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while count := file.readinto(buffer):
                digest.update(view[:count])
                tell(count)
            if _state(file.fileno()) != before:
                raise Changed("it changed while it was read", place=str(path), hint="try again")
    except OSError as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()


def _state(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns


def _unreadable(path: Path, error: OSError) -> Refused:
    return Refused(
        f"it cannot be read: {error.strerror}", place=str(path), hint="change its permissions"
    )
