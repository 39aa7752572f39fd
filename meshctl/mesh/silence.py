"""Reads the rest of an answer, and hangs up on an upstream that falls silent in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from meshctl.mesh.wire.connection import Upstream


class Ear:
    """One answer that has begun; `silent` says that it was given up for its silence.

    One timer for the whole answer, which looks now and then: one for every read would cost more
    than the read.
    """

    def __init__(self, upstream: Upstream, longest_s: float) -> None:
        self.silent = False
        self._upstream = upstream
        self._longest_s = longest_s
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        """Since when we wait for it; while a client is slow, we do not."""
        self._timer = self._loop.call_later(longest_s, self._look)

    async def readany(self) -> bytes:
        """What comes next; empty at the end. Raises aiohttp.ClientError, also after a silence."""
        self._since = self._loop.time()
        try:
            return await self._upstream.content.readany()
        finally:
            self._since = None

    def close(self) -> None:
        """Listens no more."""
        self._timer.cancel()

    def _look(self) -> None:
        waited = 0.0 if self._since is None else self._loop.time() - self._since
        if waited < self._longest_s:
            self._timer = self._loop.call_later(self._longest_s - waited, self._look)
        else:
            self.silent = True
            self._upstream.close()


@contextmanager
def listening(upstream: Upstream, longest_s: float) -> Iterator[Ear]:
    """Around the reading of one answer."""
    ear = Ear(upstream, longest_s)
    try:
        yield ear
    finally:
        ear.close()
