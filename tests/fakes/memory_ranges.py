"""Files in memory, at the door of outside/ranges.py; every request is remembered."""

from __future__ import annotations

from collections.abc import Mapping

from meshctl.errors import Unreachable
from meshctl.outside.ranges import Missing


class MemoryFile:
    """`asked` holds the ranges as they were answered."""

    version = "1"

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)
        self.asked: list[tuple[int, int]] = []

    def read(self, start: int, end: int) -> bytes:
        self.asked.append((start, min(end, self.size)))
        return self.data[start:end]


class Absent:
    """A file that is not there, or, with an error, cannot be read."""

    size = 0
    version = ""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read(self, start: int, end: int) -> bytes:
        raise self.error


class MemoryFolder:
    """Files by name; those in `unreachable` do not answer."""

    shown = "memory/"

    def __init__(self, files: Mapping[str, bytes], unreachable: tuple[str, ...] = ()) -> None:
        self.files = {name: MemoryFile(data) for name, data in files.items()}
        self.unreachable = unreachable

    def open(self, name: str) -> MemoryFile | Absent:
        if name in self.unreachable:
            return Absent(Unreachable("no answer", hint="try again"))
        return self.files.get(name) or Absent(Missing(f"no {name}", hint="check its name"))
