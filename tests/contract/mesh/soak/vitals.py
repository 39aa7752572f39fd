"""What a process holds on to: descriptors, memory and children."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path


def descriptors(pid: int) -> int:
    """Open files and sockets."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def resident_bytes(pid: int) -> int:
    """Memory that is really there."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def zombies(parent: int) -> list[int]:
    """Children that ended and that nobody waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, of = stat.read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and int(of) == parent:
                found.append(int(stat.parent.name))
    return found


def mentioning(text: str) -> list[int]:
    """Living processes whose command line holds this."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if text.encode() in line.read_bytes():
                found.append(int(line.parent.name))
    return found
