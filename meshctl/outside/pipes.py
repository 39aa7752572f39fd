"""Whether anybody still reads what we write."""

from __future__ import annotations

import select
from typing import TextIO


def hung_up(stream: TextIO) -> bool:
    """Whether the reader of a stream is gone; False where there is no file behind it.

    Asked of the system, for a buffer that was lost in the error has nothing left to flush.
    """
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return False
    poller = select.poll()
    poller.register(number, 0)  # an error and a hang-up are told without being asked for
    return any(told & (select.POLLERR | select.POLLHUP) for _, told in poller.poll(0))
