"""Reads files piece by piece, wherever they are; this door opens those of this machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol

from meshctl.errors import Refused, UsageError


class Missing(UsageError):
    """There is no such file."""


class Changed(Refused):
    """The file is not what it was when its first bytes were read."""


class Ranges(Protocol):
    """One file. Nothing is opened or asked before the first read."""

    @property
    def size(self) -> int:
        """Bytes of the whole file; known once something was read."""
        ...

    @property
    def version(self) -> str:
        """What tells this state of the file from another: an ETag, a generation, a time of change.

        Known once something was read; empty where nothing tells.
        """
        ...

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to before `end`, fewer where the file ends, in one request.

        Raises Missing, Changed when the file is another one than at the first read, Unreachable
        and Refused.
        """
        ...


class Folder(Protocol):
    """Where a file and its siblings are; `shown` is how people write it, ending in a slash."""

    @property
    def shown(self) -> str: ...

    def open(self, name: str) -> Ranges: ...


class DiskFolder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def shown(self) -> str:
        return "" if self.path == Path() else f"{self.path}/"

    def open(self, name: str) -> Ranges:
        return DiskFile(self.path / name)


class DiskFile:
    """A file of this machine; links are followed, whatever is no file is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        return self._seen[0] if self._seen else 0

    @property
    def version(self) -> str:
        return str(self._seen[1]) if self._seen else ""

    def read(self, start: int, end: int) -> bytes:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # opening a pipe would wait for ever
                raise UsageError(
                    f"{self.path} is no file", place=str(self.path), hint="name a file in it"
                )
            with self.path.open("rb") as file:
                self._notice(os.fstat(file.fileno()))
                file.seek(start)
                return file.read(max(0, min(end, self.size) - start))
        except FileNotFoundError as error:
            raise Missing(
                f"there is no file {self.path}", place=str(self.path), hint="check the path"
            ) from error
        except OSError as error:
            raise Refused(
                f"{self.path.name} cannot be read: {error.strerror}",
                place=str(self.path),
                hint="change its permissions",
            ) from error

    def _notice(self, found: os.stat_result) -> None:
        now = (found.st_size, found.st_mtime_ns)
        if self._seen not in (None, now):
            raise Changed(
                f"{self.path.name} changed while it was read",
                place=str(self.path),
                hint="try again when nothing writes to it",
            )
        self._seen = now
