"""The output of a revision's instances: one file per revision, rotated once."""

from __future__ import annotations

import os
from pathlib import Path


class RevisionLog:
    """Appends to DATA/logs/REVISION.log and keeps one older file beside it."""

    def __init__(self, folder: Path, revision: str, limit_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{revision}.log"
        self._limit = limit_bytes

    def append(self, data: bytes) -> None:
        """Write output; rotate when the file has grown past its limit."""
        with self.path.open("ab") as file:
            file.write(data)
            size = file.tell()
        if size > self._limit:
            os.replace(self.path, self.path.with_suffix(".log.1"))


def tail(data: bytes, lines: int) -> str:
    """The last lines of an output, as text."""
    return "\n".join(data.decode(errors="replace").splitlines()[-lines:])
