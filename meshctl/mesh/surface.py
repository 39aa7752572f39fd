"""The HTTP surface of a mesh: the OpenAI routes, the models, health, readiness and metrics."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from meshctl.mesh import headers as head
from meshctl.mesh.answers import ID, Envelope, envelope, guard, locked
from meshctl.mesh.exchange import CHAT, TEXT, Exchange
from meshctl.mesh.faults import engine_down
from meshctl.mesh.listing import listing
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.operating import Operating
from meshctl.mesh.outlet import Theirs
from meshctl.mesh.router import Local, route
from meshctl.mesh.settings import Settings
from meshctl.mesh.silent import Silent
from meshctl.mesh.supervisor import Supervisor
from meshctl.mesh.switch.backends import Backends
from meshctl.mesh.upstreams import Upstreams

DRAIN_S = 8.0
"""For answers in flight after SIGTERM; Cloud Run kills after 10 s, and the engines need 1.5."""
BODY_BYTES = 32 * 2**20
"""Largest request: a few images in base64 fit, a flood does not."""
METRICS = "text/plain; version=0.0.4; charset=utf-8"
"""The text form of Prometheus, by the name that it goes by."""
PATHS = (CHAT, TEXT, "/v1/embeddings", "/v1/rerank", "/v1/responses")


class Surface:
    """Answers the requests of one mesh."""

    def __init__(
        self,
        settings: Settings,
        supervisor: Supervisor,
        upstreams: Upstreams,
        log: Log,
        metrics: Metrics,
        backends: Backends | None = None,
    ) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._log = log
        self._created = int(time.time())
        self._metrics = metrics
        self._backends = backends
        self._exchange = Exchange(settings, supervisor, upstreams, log, metrics, backends)
        self._operating = Operating(settings, supervisor, log)
        self._in_flight: set[asyncio.Task[object]] = set()
        self.silent = Silent()

    def application(self) -> web.Application:
        """The routes; every answer, errors included, says which release gave it."""
        middlewares = [self.silent.middleware(), guard(BODY_BYTES, self._log)]
        if keys := self._settings.keys:
            middlewares.append(locked(keys, self._metrics, self._log))
        application = web.Application(client_max_size=BODY_BYTES, middlewares=middlewares)
        for path in PATHS:
            application.router.add_post(path, self.answer)
        application.router.add_get("/v1/models", self.models)
        application.router.add_get("/health", self.health)
        application.router.add_get("/ready", self.ready)
        application.router.add_get("/running", self.running)
        application.router.add_get("/metrics", self.metrics)
        self._operating.add_to(application.router)
        application.on_response_prepare.append(self._sign)
        application.on_shutdown.append(self._drain)
        return application

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A completion or an embedding, from an engine here or from a peer."""
        task = asyncio.current_task()
        assert task
        self._in_flight.add(task)
        try:
            return await self._exchange.answer(request)
        finally:
            self._in_flight.discard(task)

    async def models(self, _: web.Request) -> web.StreamResponse:
        """Local models and what the peers are declared to have; no peer is asked."""
        return web.json_response(
            listing(
                self._settings.models,
                self._settings.peers,
                self._created,
                self._backends.active if self._backends else None,
            )
        )

    async def health(self, _: web.Request) -> web.StreamResponse:
        """The mesh is alive; that says nothing of its engines."""
        return web.json_response({"status": "ok"})

    async def ready(self, _: web.Request) -> web.StreamResponse:
        """The default model can be served now. A peer's is taken on trust: asking would wake it."""
        default = self._settings.default_model
        if self._backends and not self._supervised(default):
            return self._backends.ready(default)
        if default is None:
            return web.json_response({"status": "ready", "model": None})
        found = route(default, self._settings.models, self._settings.peers)
        down = self._supervisor.down(default) if isinstance(found, Local) else None
        if down:
            return envelope(engine_down(down), {head.MODEL: default})
        body = {"status": "ready", "model": default}
        return web.json_response(body, headers={head.MODEL: default})

    def _supervised(self, model: str | None) -> bool:
        return isinstance(route(model or "", self._settings.models, ()), Local)

    async def running(self, _: web.Request) -> web.StreamResponse:
        """The models that are loaded here now, and why others could not be."""
        loaded = [m.id for m in self._settings.models if self._supervisor.resident(m.id)]
        running = [{"model": id, "state": "ready"} for id in loaded]
        reasons = {m.id: self._supervisor.failed(m.id) for m in self._settings.models}
        failed = [{"model": id, "reason": why} for id, why in reasons.items() if why]
        return web.json_response({"running": running, "failed": failed})

    async def metrics(self, _: web.Request) -> web.StreamResponse:
        """What was counted, for Prometheus."""
        page = self._exchange.metrics().encode()
        return web.Response(body=page, headers={"Content-Type": METRICS})

    async def _drain(self, _: web.Application) -> None:
        """The server listens no more: what is in flight may finish; then it is told and cut."""
        self._exchange.stop()
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=DRAIN_S)
        for task in self._in_flight:
            task.cancel()

    async def _sign(self, request: web.Request, answer: web.StreamResponse) -> None:
        """The request's id, and our release, except on what a peer answered: that carries the
        peer's own, or none."""
        if ID in request:
            answer.headers[head.REQUEST] = request[ID]
        if isinstance(answer, Theirs) or (
            head.PEER in answer.headers and not isinstance(answer, Envelope)
        ):
            return
        for name, value in (
            (head.RELEASE, self._settings.release),
            (head.REVISION, self._settings.revision),
        ):
            if value:
                answer.headers[name] = value
