"""Reads a file in several pieces at once, and hands them on in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue

MOST = 4 * 2**20
"""Bytes of one piece at most: at 100 MB/s its request costs a small part of its time."""
LEAST = 256 * 2**10
PARTS = 512
"""A kill loses the pieces under way, AT_ONCE of them: less than 1 % of a file."""
AT_ONCE = 4

Read = Callable[[int, int], bytes]
"""The bytes from the first number to before the second; all of them, or it raises."""


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    data: Future[bytes]


def pieces(reader: Callable[[], Read], start: int, size: int) -> Iterator[bytes]:
    """The file from `start` to `size`, piece by piece; each of the threads has a reader of its own.

    Raises what the first piece that could not be read raised. Never more is held than AT_ONCE
    pieces. Threads that still read when it is left are left to themselves.
    """
    asked: SimpleQueue[_Piece | None] = SimpleQueue()
    workers = min(AT_ONCE, -(-(size - start) // piece_bytes(size)))
    for _ in range(workers):
        threading.Thread(target=_work, args=(reader, asked), daemon=True).start()
    try:
        yield from _in_order(asked, start, size)
    finally:
        for _ in range(workers):
            asked.put(None)


def piece_bytes(size: int) -> int:
    """How many bytes are asked for at once of a file of this size."""
    return max(LEAST, min(MOST, size // PARTS))


def _in_order(asked: SimpleQueue[_Piece | None], start: int, size: int) -> Iterator[bytes]:
    step = piece_bytes(size)
    waiting: deque[_Piece] = deque()
    while start < size or waiting:
        while start < size and len(waiting) < AT_ONCE:
            piece = _Piece(start, min(start + step, size), Future())
            waiting.append(piece)
            asked.put(piece)
            start = piece.end
        yield waiting.popleft().data.result()


def _work(reader: Callable[[], Read], asked: SimpleQueue[_Piece | None]) -> None:
    read: Read | None = None
    while piece := asked.get():
        try:
            read = read or reader()
            piece.data.set_result(read(piece.start, piece.end))
        except BaseException as error:  # whoever waits for the piece raises it
            piece.data.set_exception(error)
