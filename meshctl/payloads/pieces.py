"""Reads a file in several pieces at once, and hands them on in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from meshctl.payloads.ahead import ahead

MOST = 4 * 2**20
"""Bytes of one piece at most: at 100 MB/s its request costs a small part of its time."""
LEAST = 256 * 2**10
PARTS = 512
"""A kill loses the pieces under way, AT_ONCE of them: less than 1 % of a file."""
AT_ONCE = 4

Read = Callable[[int, int], bytes]
"""The bytes from the first number to before the second; all of them, or it raises."""


def pieces(reader: Callable[[], Read], start: int, size: int) -> Iterator[bytes]:
    """The file from `start` to `size`, piece by piece; each of the threads has a reader of its own.

    Raises what the first piece that could not be read raised. Never more is held than AT_ONCE
    pieces.
    """

    def act() -> Callable[[tuple[int, int]], bytes]:
        read = reader()
        return lambda span: read(*span)

    step = piece_bytes(size)
    spans = ((at, min(at + step, size)) for at in range(start, size, step))
    for _, data in ahead(act, spans, AT_ONCE):
        yield data


def piece_bytes(size: int) -> int:
    """How many bytes are asked for at once of a file of this size."""
    return max(LEAST, min(MOST, size // PARTS))
