"""The processes of one engine: its group, and those who left it, known by a mark they inherited.

A worker that had called setsid outlived its engine once, and kept the memory of the card.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "MESH_ENGINE_MARK"
"""The variable that every process of an engine inherits, whatever group or session it moves to."""
LONGEST_S = 5.0
"""The kernel takes memory back in far less; what it cannot end is not waited for longer."""
POLL_S = 0.02


@dataclass(frozen=True)
class Kin:
    """The processes of one engine: of its group, or with its mark in their environment."""

    group: int
    mark: str

    async def end(self, longest_s: float = LONGEST_S) -> tuple[int, ...]:
        """Kills them, also those who are born meanwhile; returns when none lives.

        Only then is the memory of the card free. Else the pids of those who live on all the same:
        the kernel holds them, in a driver that hangs as a rule.
        """
        for _ in range(round(longest_s / POLL_S)):
            alive = tuple(self._alive())
            if not alive:
                return ()
            for pid in alive:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(POLL_S)
        return tuple(self._alive())

    def _alive(self) -> Iterator[int]:
        """A zombie does not live: whoever should reap it may never do so."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
                if state != "Z" and (int(group) == self.group or self._marked(process)):
                    yield int(process.name)

    def _marked(self, process: Path) -> bool:
        return f"{MARK}={self.mark}".encode() in (process / "environ").read_bytes().split(b"\0")
