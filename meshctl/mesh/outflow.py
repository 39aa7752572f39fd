"""Writes to standard error without failing, and without waiting for long, because of who reads it.

A log that raises or blocks takes the mesh with it: one was lost to a reader that had died, and one
to a reader that stood still.
"""

from __future__ import annotations

import os
import select
import sys
from itertools import takewhile

PATIENCE_S = 0.2
"""For a reader that is only busy; one that stands still is not waited for again."""


class Outflow:
    """Standard error; `put` says whether the line was taken."""

    def __init__(self) -> None:
        self._stalled = False
        self._cut = False

    def put(self, line: str) -> bool:
        """One line. What its reader does not take in time is lost; the caller counts."""
        start = "\n" if self._cut else ""  # ends what of a lost line was taken
        pieces = _pieces((start + line + "\n").encode(errors="replace"))
        patience_s = 0.0 if self._stalled else PATIENCE_S
        taken = sum(1 for _ in takewhile(lambda piece: _taken(piece, patience_s), pieces))
        self._stalled = taken < len(pieces)
        self._cut = self._stalled and (self._cut or taken > 0)
        return not self._stalled


def _pieces(data: bytes) -> list[bytes]:
    return [data[at : at + select.PIPE_BUF] for at in range(0, len(data), select.PIPE_BUF)]


def _taken(piece: bytes, patience_s: float) -> bool:
    """A pipe that is ready takes PIPE_BUF bytes at once (pipe(7)); a full disk raises OSError."""
    try:
        number = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return _written(piece)
    try:
        poll = select.poll()
        poll.register(number, select.POLLOUT)
        return bool(poll.poll(patience_s * 1000)) and os.write(number, piece) == len(piece)
    except OSError:
        return False


def _written(piece: bytes) -> bool:
    """Where standard error is no file but an object of Python's, as in tests."""
    try:
        sys.stderr.write(piece.decode(errors="replace"))
    except (OSError, ValueError, AttributeError):
        return False
    return True
