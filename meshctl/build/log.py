"""Reads the log of a build in the cloud: what is new as it grows, and its end when it failed."""

from __future__ import annotations

from typing import Any

from meshctl.build.request import Doors
from meshctl.errors import MeshctlError

Json = dict[str, Any]
END_LINES = 20


class BuildLog:
    """`log-ID.txt` in the build's bucket of logs, read on from where the last look ended."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self._has = 0
        self._rest = b""

    def more(self, build: Json) -> list[str]:
        """Whole lines that came since; none when there is no log, or it cannot be read now."""
        new = _read(self.doors, build, self._has)
        self._has += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in lines]


def log_end(doors: Doors, build: Json) -> list[str]:
    """The last lines of the log; none when it cannot be read."""
    return _read(doors, build, 0).decode(errors="replace").splitlines()[-END_LINES:]


def _read(doors: Doors, build: Json, start: int) -> bytes:
    """A log that is not there yet, has nothing new or may not be read is no failure of a build."""
    bucket, _, folder = build.get("logsBucket", "").removeprefix("gs://").partition("/")
    if not bucket:
        return b""
    name = f"log-{build['id']}.txt"
    path = f"{folder.rstrip('/')}/{name}" if folder else name
    try:
        return doors.uploads.read(bucket, path, start) or b""
    except MeshctlError:
        return b""
