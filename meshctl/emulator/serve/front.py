"""A front: one loopback port of a service or a tag, before the instances of its revisions."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import ClientError, ClientSession, web

from meshctl.emulator.serve.done import Done
from meshctl.emulator.serve.exchange import Exchange
from meshctl.emulator.serve.launch import CannotStart
from meshctl.emulator.serve.pool import Overloaded, Pool

_HEADER_BYTES = 64 << 10
_CLIENT_LEFT = 499  # what is recorded where nobody waited for the answer


@dataclass(frozen=True)
class Share:
    """One revision's part of the split."""

    revision: str
    percent: int
    pool: Pool
    timeout_s: float


Split = tuple[Share, ...]
Guard = Callable[[web.BaseRequest], "tuple[int, str] | None"]


class Front:
    """Listens on one port; `split` is replaced as a whole, requests in flight keep theirs."""

    def __init__(
        self,
        port: int,
        session: ClientSession,
        guard: Guard,
        record: Callable[[Done], None],
        rng: random.Random,
    ) -> None:
        self.port = port
        self.split: Split = ()
        self._session, self._guard, self._record, self._rng = session, guard, record, rng
        self._runner: web.ServerRunner | None = None
        self._site: web.TCPSite | None = None
        self._active = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def open(self) -> None:
        """Start listening; OSError when the port is taken."""
        # A client that goes away cancels the handler, and with it the upstream request.
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self._site = site

    async def stop_listening(self) -> None:
        """Free the port; requests in flight go on."""
        if self._site is not None:
            await self._site.stop()
            self._site = None

    async def close(self, drain_s: float) -> None:
        """Stop listening, let requests in flight finish (up to the limit), cut what is left."""
        await self.stop_listening()
        if self._runner is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._quiet.wait(), drain_s)
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self._guard(request)
        if refusal:
            return web.Response(status=refusal[0], text=refusal[1])
        share = self._choose()
        if share is None:
            # No ready revision: the cloud answers without a container as well.
            return web.Response(status=404, text="No revision of this service is ready to serve.\n")
        self._active += 1
        self._quiet.clear()
        begun, status = time.monotonic(), _CLIENT_LEFT
        try:
            answer = await self._within_timeout(request, share)
            status = answer.status
            return answer
        finally:
            self._active -= 1
            if not self._active:
                self._quiet.set()
            self._record(self._done(request, share, status, time.monotonic() - begun))

    def _done(self, request: web.BaseRequest, share: Share, status: int, seconds: float) -> Done:
        url = f"http://127.0.0.1:{self.port}{request.raw_path}"
        agent = request.headers.get("User-Agent", "")
        return Done(share.revision, status, seconds, request.method, url, agent)

    def _choose(self) -> Share | None:
        shares = [share for share in self.split if share.percent > 0]
        if not shares:
            return None
        return self._rng.choices(shares, [share.percent for share in shares])[0]

    async def _within_timeout(self, request: web.BaseRequest, share: Share) -> web.StreamResponse:
        exchange = Exchange(request, share.pool, self._session)
        try:
            async with asyncio.timeout(share.timeout_s):
                return await exchange.run()
        except TimeoutError:
            # facts s1: a request longer than the revision's timeout ends with 504.
            return exchange.fail(504, "upstream request timeout\n")
        except Overloaded:
            return exchange.fail(429, "Rate exceeded.\n")
        except CannotStart:
            return exchange.fail(503, "Service Unavailable\n")
        except (ClientError, ConnectionError):
            return exchange.fail(503, "upstream connect error or disconnect\n")
