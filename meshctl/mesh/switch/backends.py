"""Answers from the active backend: waits while it is exchanged, asks again when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import aiohttp
from aiohttp import web

from meshctl.mesh import headers as head
from meshctl.mesh.answers import envelope
from meshctl.mesh.asked import Asked
from meshctl.mesh.faults import Failed, Fault, cut_off, too_long, upstream_failed
from meshctl.mesh.hold import Hold
from meshctl.mesh.local import Patience, Sending
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.relay import first_bytes, relay
from meshctl.mesh.retry import Tries
from meshctl.mesh.switch.carrier import Refusal, Switching
from meshctl.mesh.switch.gate import NOBODY
from meshctl.mesh.upstreams import Redirected, Upstreams
from meshctl.mesh.wire.connection import Begun, Garbled, Stale
from meshctl.spec.switch import Backend

BACKEND = "x-mesh-backend"
"""Which backend gave an answer; and on a request that was put to one, which."""
LOADING = 503
"""What an engine says that has its port and not its model yet."""


class _NotYet(aiohttp.ClientConnectionError):
    """The backend is there, and cannot answer yet."""


class Backends:
    """The backends of one mesh, asked one request at a time."""

    def __init__(
        self, switching: Switching, upstreams: Upstreams, patience: Patience, metrics: Metrics
    ) -> None:
        self._switching = switching
        self._upstreams = upstreams
        self._patience = patience
        self._metrics = metrics

    @property
    def active(self) -> Backend | None:
        """Who serves now."""
        return self._switching.switch.active

    @property
    def default_model(self) -> str | None:
        """What is meant by a request that names no model."""
        return self._switching.switch.default_model

    def takes(self, model: str) -> bool:
        """A backend answers for the model, or will when requests are held no more."""
        return self._switching.switch.takes(model)

    def keepalive(self, model: str) -> Literal["comment", "chunk", "off"]:
        """How a client is told that it is not forgotten."""
        backend = self._switching.switch.backend_of(model)
        return backend.keepalive if backend else "comment"

    def refusal(self, headers: Mapping[str, str], asked: Asked) -> Fault | None:
        """Why no backend is asked: the prompt cannot fit, or a front asks itself in a circle."""
        if BACKEND in headers:
            return Fault(508, "a backend of this front sent it back here", "forwarding_loop")
        backend = self._switching.switch.backend_of(asked.model)
        limit = backend.context if backend else None
        if limit is not None and asked.least_tokens > limit:
            return too_long(asked.least_tokens, limit)
        return None

    def ready(self, default: str | None) -> web.StreamResponse:
        """Whether the default model can be served. The backend is not asked: it is when it is
        chosen, and clients find out the rest."""
        name = default or self.default_model
        if name is None or not self.takes(name) or self.active is None:
            return envelope(NOBODY)
        body = {"status": "ready", "model": name}
        return web.json_response(body, headers={head.MODEL: name, BACKEND: self.active.name})

    async def answer(self, hold: Hold, model: str, sending: Sending) -> web.StreamResponse:
        """The answer of the backend that is active when it begins. Raises Failed and Left.

        While a lost request waits to be sent again it is in nobody's hand: a backend that is gone
        is free of requests, and the one that takes its place gets them.
        """
        hold.headers, hold.theirs = {head.MODEL: model}, False
        lost = ""
        tries: Tries | None = Tries(self._patience.connect_retries)
        while tries:
            try:
                async with self._turn(hold, model) as backend:
                    lost = f"backend {backend.name}"
                    return await self._ask(hold, backend, sending, tries)
            except Refusal as refusal:
                raise Failed(refusal.fault, hold.headers) from None
            except (Redirected, Garbled) as error:
                raise Failed(upstream_failed(lost, str(error)), hold.headers) from None
            except Begun:
                raise Failed(cut_off(lost), hold.headers) from None
            except Stale:
                tries = tries.after_stale()
                continue
            except (_NotYet, aiohttp.ClientConnectorError) as error:
                tries, why = tries.after_refusal(), _why(error)
            except aiohttp.ClientError as error:
                tries, why = tries.after_death(), _why(error)
            self._metrics.retries.add(1 if tries else 0)
            await asyncio.sleep(self._patience.connect_backoff_s if tries else 0)
        raise Failed(_lost(lost, why), hold.headers)

    @asynccontextmanager
    async def _turn(self, hold: Hold, model: str) -> AsyncIterator[Backend]:
        """The backend; the wait for it is shown to the client and counted."""
        now = asyncio.get_running_loop().time
        since: float | None = None

        def held() -> None:
            nonlocal since
            since = now()
            self._metrics.waiting.add(1)
            hold.told(0)

        def over() -> None:
            nonlocal since
            if since is not None:
                self._metrics.waiting.add(-1)
                self._metrics.wait.observe(now() - since)
                since = None

        try:
            async with self._switching.turn(model, held) as backend:
                over()
                yield backend
        finally:
            over()

    async def _ask(
        self, hold: Hold, backend: Backend, sending: Sending, tries: Tries
    ) -> web.StreamResponse:
        """Raises aiohttp.ClientError when the backend is lost before the first byte."""
        headers = {**sending.headers, BACKEND: backend.name}
        async with await self._upstreams.once(
            backend.url + sending.path, headers, sending.body, fresh=tries.fresh
        ) as upstream:
            if upstream.status == LOADING and tries.left > 0:
                raise _NotYet(f"it said {LOADING}")
            first = await first_bytes(upstream)
            named = {**hold.headers, BACKEND: backend.name}
            returned = head.returned(upstream.headers, from_mesh=False) | named
            return await relay(hold, upstream, first, returned, f"backend {backend.name}")


def _lost(who: str, why: str) -> Fault:
    return Fault(502, f"{who} was lost before it answered: {why}", "engine_lost")


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
