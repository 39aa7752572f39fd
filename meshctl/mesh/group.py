"""Waits for the end of a killed process group, whose memory of the card is free only then."""

from __future__ import annotations

import asyncio
from pathlib import Path

LONGEST_S = 5.0
"""The kernel takes memory back in far less; what it cannot end is not waited for longer."""
POLL_S = 0.02


async def group_gone(group: int) -> None:
    """Returns when no process of the group lives."""
    for _ in range(round(LONGEST_S / POLL_S)):
        if not any(_lives_in(group, stat) for stat in Path("/proc").glob("[0-9]*/stat")):
            return
        await asyncio.sleep(POLL_S)


def _lives_in(group: int, stat: Path) -> bool:
    """A zombie does not live: whoever should reap it may never do so."""
    try:
        state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return state != "Z" and int(process_group) == group
