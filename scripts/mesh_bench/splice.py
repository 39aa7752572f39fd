"""The floor: passes bytes between two connections, and knows nothing of them.

python splice.py PORT UPSTREAM_PORT
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast


class Far(asyncio.Protocol):
    """The connection to the upstream."""

    def __init__(self, near: asyncio.Transport) -> None:
        self._near = near

    def data_received(self, data: bytes) -> None:
        self._near.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._near.close()


class Near(asyncio.Protocol):
    """The connection of a client."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._far: asyncio.Transport | None = None
        self._early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        near = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._opening = asyncio.ensure_future(self._open(near))

    async def _open(self, near: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        self._far, _ = await loop.create_connection(lambda: Far(near), "127.0.0.1", self._port)
        self._far.write(self._early)

    def data_received(self, data: bytes) -> None:
        if self._far:
            self._far.write(data)
        else:
            self._early += data

    def connection_lost(self, _: Exception | None) -> None:
        if self._far:
            self._far.close()


async def serve(port: int, upstream: int) -> None:
    """For ever."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Near(upstream), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(serve(int(sys.argv[1]), int(sys.argv[2])))
