"""Closes connections on which nobody ever asked anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

HEAD_S = 60.0
"""For the first head of a connection, from its opening on; twice that at most."""
IDLE_S = 620.0
"""Between two requests of one connection: longer than the 600 s for which Google's load balancers
keep theirs, so that they, and not the mesh, close it, and no request goes into a closed one."""


class Silent:
    """Whom a mesh has heard on which connection."""

    def __init__(self) -> None:
        self._heard: set[object] = set()

    def middleware(self) -> Middleware:
        """Notes who asks something, whatever it is."""

        @web.middleware
        async def hearing(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            self._heard.add(request.protocol)
            return await handler(request)

        return hearing

    async def close_them(self, server: web.Server) -> None:
        """Looks at all connections from time to time, until it is cancelled."""
        before: set[object] = set()
        while True:
            await asyncio.sleep(HEAD_S)
            self._heard &= set(server.connections)
            silent = [one for one in server.connections if one not in self._heard]
            for connection in silent:
                if connection in before:
                    connection.force_close()
            before = set(silent)
