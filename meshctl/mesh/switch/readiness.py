"""Asks a backend whether it is ready, as often as the time allows."""

from __future__ import annotations

import asyncio

import aiohttp

from meshctl.mesh.upstreams import Upstreams
from meshctl.spec.switch import Backend

ONE_S = 5.0
"""For one answer: whoever needs longer to say that it is ready is not."""
PAUSE_S = 0.2


class Checks:
    """Backends are asked on connections of their own, so that none is ready by an old one."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams

    async def until_ready(self, backend: Backend, seconds: float) -> str | None:
        """None as soon as it is ready, else why it is not; asked once at least."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            left = end - loop.time()
            why = await self.once(backend, min(ONE_S, max(left, PAUSE_S)))
            if why is None or loop.time() + PAUSE_S >= end:
                return why
            await asyncio.sleep(PAUSE_S)

    async def once(self, backend: Backend, seconds: float = ONE_S) -> str | None:
        """None when it is ready now; else why not."""
        try:
            status = await self._upstreams.get_status(backend.url + backend.ready, seconds)
        except TimeoutError:
            return f"{backend.ready} gave no answer within {seconds:.1f} s"
        except (aiohttp.ClientError, ValueError, OSError) as error:
            return f"{backend.ready}: {str(error) or type(error).__name__}"
        return None if 200 <= status < 300 else f"{backend.ready} said {status}"
