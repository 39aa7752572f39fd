"""The bytes to one client: as they come, and never so slowly that an engine has to wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

BEHIND_BYTES = 8 * 2**20
"""What a client may be behind before its engine waits: more than nearly any whole answer."""
STALL_S = 30.0
"""A client that is so far behind gets so long to catch up while an engine waits for it, however it
drips: one that took a byte now and then once kept a card for hours. Afterwards only one that takes
nothing for so long is cut off."""
LOOK_S = 0.05
_NEVER = 2**30
"""The transport's own limit: `send` watches instead, for aiohttp would wait without an end."""


class Left(ConnectionError):
    """The client is gone, or took nothing for too long."""


class Theirs(web.StreamResponse):
    """An answer that a peer will give, begun before it did: it carries no release of ours."""


class Outlet:
    """One answer that is written in pieces; `open` it first, then `close` it or `cut` it."""

    def __init__(self, request: web.Request, stall_s: float = STALL_S) -> None:
        self._request = request
        self._stall_s = stall_s
        self.answer: web.StreamResponse | None = None

    async def open(self, headers: Mapping[str, str], first: bytes, *, theirs: bool) -> None:
        """Status 200, these headers and the first bytes, in one packet. Raises Left."""
        if self._request.transport is None:
            raise Left("the client is gone")
        self._request.transport.set_write_buffer_limits(high=_NEVER)
        self.answer = (Theirs if theirs else web.StreamResponse)(headers=headers)
        try:
            await self.answer.prepare(self._request)
        except ConnectionError as gone:  # it hung up, and nobody has told this task yet
            raise Left(str(gone)) from None
        await self.send(first)

    async def send(self, data: bytes) -> None:
        """Hands bytes over; waits only for a client that is far behind. Raises Left."""
        assert self.answer
        try:
            await self.answer.write(data)
        except ConnectionError as gone:
            raise Left(str(gone)) from None
        if self._behind() > BEHIND_BYTES:
            await self._wait_below(BEHIND_BYTES // 2, renewed=False)

    async def close(self) -> None:
        """The clean end. Raises Left."""
        assert self.answer
        try:
            await self.answer.write_eof()
        except ConnectionError as gone:
            raise Left(str(gone)) from None

    def cut(self) -> None:
        """Ends the connection without the final chunk, once what was handed over is sent.

        Many clients take a stream that ends without [DONE] for a complete one.
        """
        if self._request.transport:
            self._request.transport.close()

    async def settle(self) -> None:
        """Waits until the client took everything; one that takes nothing is cut off."""
        if self._behind():
            await self._wait_below(1, renewed=True)

    def _behind(self) -> int:
        transport = self._request.transport
        return transport.get_write_buffer_size() if transport else 0

    async def _wait_below(self, limit: int, *, renewed: bool) -> None:
        """Returns when less is left to send. Raises Left after `stall_s`."""
        loop = asyncio.get_running_loop()
        least, until = self._behind(), loop.time() + self._stall_s
        while (left := self._behind()) >= limit:
            if renewed and left < least:
                least, until = left, loop.time() + self._stall_s
            if loop.time() > until:
                self._abort()
                raise Left(f"the client was too slow for {self._stall_s:.0f} s")
            await asyncio.sleep(LOOK_S)

    def _abort(self) -> None:
        if self._request.transport:
            self._request.transport.abort()
