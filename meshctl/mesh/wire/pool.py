"""The short way to the engines on this machine: HTTP/1.1 over kept connections, and nothing else.

A general client spends a third of a request on what no engine here needs: redirects, cookies,
proxies, TLS. ADR 0009 says what was measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from aiohttp.client_reqrep import ConnectionKey

from meshctl.mesh.wire.connection import Answer, Stale, Wire
from meshctl.mesh.wire.framing import whole_request


class Wires:
    """The connections to the engines of this machine, kept as long as they may be of use."""

    def __init__(self, idle_s: float, connect_s: float) -> None:
        self._idle_s = idle_s
        self._connect_s = connect_s
        self._open: set[Wire] = set()
        self._kept: dict[int, list[Wire]] = {}

    async def post(
        self, port: int, path: str, headers: Mapping[str, str], body: bytes, *, fresh: bool
    ) -> Answer:
        """The answer. Raises aiohttp.ClientError: ClientConnectorError where nobody listens, Stale
        where a kept connection ended without a byte; with `fresh` none of them is used.

        The request is handed over once: how often it may be, only the caller can count.
        """
        request = whole_request(port, path, headers, body)
        wire = None if fresh else self._take(port)
        if wire is None:
            return await (await self._connect(port)).ask(request)
        try:
            return await wire.ask(request)
        except aiohttp.ServerDisconnectedError:
            raise Stale from None

    def close(self) -> None:
        """Hangs up on everybody."""
        for wire in tuple(self._open):
            wire.abort()

    def opened(self, wire: Wire) -> None:
        """It is there."""
        self._open.add(wire)

    def keep(self, wire: Wire) -> None:
        """It may serve again, for a while."""
        wire.idle = asyncio.get_running_loop().call_later(self._idle_s, wire.abort)
        self._kept.setdefault(wire.port, []).append(wire)

    def forget(self, wire: Wire) -> None:
        """It is closed."""
        self._open.discard(wire)
        if wire.idle:
            self._leave(wire)

    def _take(self, port: int) -> Wire | None:
        """The connection that was used last: the others may grow too old."""
        while kept := self._kept.get(port):
            wire = kept[-1]
            self._leave(wire)
            if wire.usable():
                return wire
        return None

    def _leave(self, wire: Wire) -> None:
        """It is idle no more."""
        assert wire.idle
        wire.idle.cancel()
        wire.idle = None
        self._kept[wire.port].remove(wire)
        if not self._kept[wire.port]:
            del self._kept[wire.port]

    async def _connect(self, port: int) -> Wire:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_s):
                _, wire = await loop.create_connection(lambda: Wire(self, port), "127.0.0.1", port)
        except OSError as error:  # a TimeoutError is one
            key = ConnectionKey("127.0.0.1", port, False, True, None, None, None, None)
            raise aiohttp.ClientConnectorError(key, error) from None
        return wire
