"""What a mesh keeps in memory: for streams that wait, and after many requests."""

from __future__ import annotations

import asyncio

from .load import connect, request_of, unary
from .subjects import Subject

WARM = 10_000


def held_bytes(subject: Subject, count: int) -> tuple[int, int]:
    """The memory before, and while so many streams wait for a model that says nothing.

    Each has heard that it is accepted, and hears keep-alives; most are queued, some have a turn.
    """
    before = subject.resident_bytes()
    return before, asyncio.run(_held(subject, count))


async def _held(subject: Subject, count: int) -> int:
    connections = [await connect(subject.port) for _ in range(count)]
    request = request_of(model="silent", stream=True, max_tokens=1)
    asked = [asyncio.ensure_future(connection.ask(request)) for connection in connections]
    async with asyncio.timeout(60):
        while not all(b": accepted" in connection.heard() for connection in connections):
            await asyncio.sleep(0.1)
    held = subject.resident_bytes()
    for task, connection in zip(asked, connections, strict=True):
        task.cancel()
        connection.close()
    return held


def growth(subject: Subject, count: int) -> tuple[int, int]:
    """The memory after a warm-up, and after so many requests more."""
    asyncio.run(unary(subject.port, WARM, 16))
    warm = subject.resident_bytes()
    for _ in range(count // WARM):
        asyncio.run(unary(subject.port, WARM, 16))
    return warm, subject.resident_bytes()
