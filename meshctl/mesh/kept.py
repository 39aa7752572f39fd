"""The last lines of a mesh and of each of its engines, for GET /logs."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter

from meshctl.mesh.line import Line

LINES = 500
"""Kept of the mesh and of each model: the boot of an engine and what came after."""
CHARACTERS = 2_000
"""Kept of each line. So a chatty engine costs 2 MB at most, and silences nobody else."""


class Kept:
    """A ring for each who speaks."""

    def __init__(self) -> None:
        self._rings: dict[str, deque[Line]] = {}
        self._listeners: set[asyncio.Event] = set()

    def add(self, line: Line) -> None:
        """One more; the oldest of the same speaker goes."""
        ring = self._rings.setdefault(line.model, deque(maxlen=LINES))
        ring.append(replace(line, text=line.text[:CHARACTERS]))
        for listener in self._listeners:
            listener.set()

    def last(self, count: int, model: str | None = None, after: int = 0) -> list[Line]:
        """The newest lines, oldest first: of one model's engine, or of all and the mesh itself.

        Of those, only what came after the line of that number.
        """
        rings = self._rings.values() if model is None else (self._rings.get(model, ()),)
        lines = heapq.merge(*rings, key=attrgetter("number"))
        return [line for line in lines if line.number > after][-count:]

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Sets the event at each new line; who listens clears it."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
