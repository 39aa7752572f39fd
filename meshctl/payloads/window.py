"""The beginning of a file, read further only as far as it is needed and allowed."""

from __future__ import annotations

from meshctl.outside.ranges import Ranges
from meshctl.payloads.header import Damaged

PIECE = 8_000_000
"""Bytes of one range request: a vocabulary of 152 k comes in one, of 262 k in two."""
LARGEST_HEADER = 64 * 2**20
"""No header is longer (facts/budget 1.5); what claims to be is refused before it is read."""


class Window:
    """`data` is what was read so far, from byte 0. Never more is held than the file has."""

    def __init__(self, ranges: Ranges, *, first: int = PIECE, limit: int = LARGEST_HEADER) -> None:
        self.ranges, self.limit = ranges, limit
        self.data = bytearray(ranges.read(0, min(first, PIECE)))
        self.size = ranges.size

    def need(self, end: int, *, ahead: int = 0) -> None:
        """Have every byte before `end`; on the way `ahead` more are read, as far as there are any.

        Raises Damaged when the file or the limit ends before that.
        """
        if end <= len(self.data):
            return
        if end > self.size:
            raise Damaged(
                "truncated", f"the header goes on to byte {end:,} at least, the file ends at "
                f"{self.size:,}"
            )  # fmt: skip
        if end > self.limit:
            raise Damaged("damaged", f"the header claims more than {self.limit:,} bytes")
        self._read(min(max(end, len(self.data) + ahead), self.size, self.limit))

    def _read(self, goal: int) -> None:
        while len(self.data) < goal:
            start = len(self.data)
            piece = self.ranges.read(start, min(goal, start + PIECE))
            if not piece:
                raise Damaged("truncated", f"the file gave no bytes from {start:,} on")
            self.data += piece

    @property
    def left(self) -> int:
        """Bytes of the file that were not read yet."""
        return self.size - len(self.data)
