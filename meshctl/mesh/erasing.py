"""Takes secrets out of what Linux shows of this process: an engine runs as the same user."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from pathlib import Path

_START, _END = 47, 48
"""Fields 50 and 51 of /proc/PID/stat, env_start and env_end (man 5 proc), after the name, which is
field 2."""


def erase(names: Collection[str]) -> None:
    """Empties these variables in the block that the process was started with, which everybody of
    its user can read in /proc/PID/environ for as long as it lives.

    What a debugger could do, to read the memory itself, stays possible. Does nothing where there is
    no /proc.
    """
    try:
        block = Path("/proc/self/environ").read_bytes()
        start, end = _place()
    except (OSError, ValueError, IndexError):
        return
    if end - start < len(block) or ctypes.string_at(start, len(block)) != block:
        return  # somebody moved it: what is there now is not ours to write to
    for entry in block.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name.decode(errors="replace") in names:
            ctypes.memset(start + len(name) + 1, 0, len(value))
        start += len(entry) + 1


def _place() -> tuple[int, int]:
    """Addresses of the block: its first byte, and the one after its last."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[_START]), int(fields[_END])
