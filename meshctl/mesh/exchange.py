"""One request of a client, from its body to the end of its answer."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress

from aiohttp import web

from meshctl.mesh import headers as head
from meshctl.mesh.answers import ID, Envelope, envelope
from meshctl.mesh.asked import Asked, read_asked
from meshctl.mesh.faults import Failed, Fault, loop, stopping, too_long, too_slow, unknown_model
from meshctl.mesh.fillers import Chunks, Comments, Filler
from meshctl.mesh.hold import Hold
from meshctl.mesh.identity import Identity
from meshctl.mesh.line import Level
from meshctl.mesh.local import Engines, Sending
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics, Outcome
from meshctl.mesh.outlet import Left
from meshctl.mesh.peers import Peers
from meshctl.mesh.remote import Nobody, Remote
from meshctl.mesh.router import Local, route, stays_here
from meshctl.mesh.settings import Settings
from meshctl.mesh.supervisor import Supervisor
from meshctl.mesh.switch.backends import Backends
from meshctl.mesh.upstreams import Upstreams
from meshctl.spec.registry import ModelEntry

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"

BODY_S = 120.0
"""For the body of a request, from its head on: the largest by 2 Mbit/s; a silent client ends."""
LONGEST_WHY = 300
"""Characters of a reason in the log: it may name a model as the client wrote it."""


class Exchange:
    """Refuses, holds and answers; `stopping` tells a client that left from a mesh that stops."""

    def __init__(
        self,
        settings: Settings,
        supervisor: Supervisor,
        upstreams: Upstreams,
        log: Log,
        metrics: Metrics,
        backends: Backends | None = None,
    ) -> None:
        self.stopping = False
        self._reading: set[asyncio.Timeout] = set()
        self._settings = settings
        self._supervisor = supervisor
        self._log = log
        self._metrics = metrics
        self._backends = backends
        self._peers = Peers(settings.peers)
        self._engines = Engines(supervisor, upstreams, settings, metrics)
        identity = Identity(settings.metadata_host, upstreams, settings.peer_key)
        self._remote = Remote(self._peers, identity, upstreams, settings.peer_timeout_s)

    def metrics(self) -> str:
        """What was counted so far, as a page."""
        loaded = {m.id: self._supervisor.resident(m.id) for m in self._settings.models}
        return self._metrics.text(self._peers.up(_now()), loaded)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What is cheap to know is refused before a client is held; it gets a status line then."""
        asked = await self._read(request)
        if isinstance(asked, Fault):
            return self._refuse(request, "", asked)
        owner = self._owner(asked.model)
        label = owner.id if owner else self._label(asked.model)
        fault = self._refusal(request, asked, owner)
        if fault:
            return self._refuse(request, label, fault)
        filler = self._filler(request, asked, owner)
        hold = Hold(request, filler, self._settings, self._metrics)
        try:
            async with hold:
                answer = await self._held(hold, request, asked, owner)
            await hold.settle()
            return answer
        except Left:
            return web.Response()  # nobody is there to read it
        finally:
            self._metrics.count(label, hold.outcome)
            self._note(request, label, hold.outcome, hold.why)

    def stop(self) -> None:
        """From here on no byte more of a request is taken; who still sends is told so at once."""
        self.stopping = True
        for reading in self._reading:
            reading.reschedule(_now())

    async def _read(self, request: web.Request) -> Asked | Fault:
        """The whole request; a client that does not send it in time loses its place."""
        try:
            async with asyncio.timeout(BODY_S) as limit:
                self._reading.add(limit)
                try:
                    body = await request.read()
                finally:
                    self._reading.discard(limit)
        except TimeoutError:
            return stopping() if self.stopping else too_slow(BODY_S)
        return read_asked(body, self._default_model())

    def _note(self, request: web.Request, label: str, outcome: Outcome, why: str) -> None:
        """One line a request; failures are shown at the usual level, too."""
        level: Level = "warning" if outcome == "failed" else "debug"
        said = f"request={request[ID]} model={label} outcome={outcome}"
        said += f": {why[:LONGEST_WHY]}" if why else ""
        self._log.say(level, said, request=request[ID])

    async def _held(
        self, hold: Hold, request: web.Request, asked: Asked, owner: ModelEntry | None
    ) -> web.StreamResponse:
        """The answer, or the failure told in whatever way is left."""
        try:
            return await self._ask(hold, request, asked, owner)
        except Failed as failed:
            return await hold.fail(failed.fault, failed.headers)
        except asyncio.CancelledError:
            if not self.stopping:
                raise  # the client left
            with suppress(Left):
                return await hold.fail(stopping(), hold.headers)
            raise

    async def _ask(
        self, hold: Hold, request: web.Request, asked: Asked, owner: ModelEntry | None
    ) -> web.StreamResponse:
        """An engine here, or the peers; and an engine after all when no peer begins to answer."""
        passed = head.named(head.sent(request.headers), request[ID])
        sending = Sending(asked.model, request.path_qs, passed, asked.body, asked.stream)
        if owner and self._stays_here(request, asked.model, owner):
            return await self._engines.answer(hold, owner.id, sending)
        if not owner and self._backends and self._backends.takes(asked.model):
            return await self._backends.answer(hold, asked.model, sending)
        now = _now()
        order = self._peers.order(asked.model, now)
        if owner:  # rather a load than a wait for who failed lately
            order = tuple(peer for peer in order if self._peers.well(peer, now))
        try:
            return await self._remote.answer(hold, order, sending, spare=owner is not None)
        except Nobody:
            assert owner
            return await self._engines.answer(hold, owner.id, sending)

    def _stays_here(self, request: web.Request, model: str, owner: ModelEntry) -> bool:
        resident = self._supervisor.resident(owner.id)
        order = () if resident else self._peers.order(model, _now())
        first = next(iter(order), None)
        return stays_here(
            resident=resident,
            forwarded=head.HOP in request.headers,
            peer_is_well=first is not None and self._peers.well(first, _now()),
        )

    def _owner(self, model: str) -> ModelEntry | None:
        found = route(model, self._settings.models, ())
        return found.model if isinstance(found, Local) else None

    def _refusal(
        self, request: web.Request, asked: Asked, owner: ModelEntry | None
    ) -> Fault | None:
        if owner:
            limit = owner.context
            long = limit is not None and asked.least_tokens > limit
            return too_long(asked.least_tokens, limit) if limit and long else None
        if self._backends and self._backends.takes(asked.model):
            return self._backends.refusal(request.headers, asked)
        peers = self._peers.order(asked.model, _now())
        if not peers:
            return unknown_model(asked.model)
        return loop(peers[0].id) if head.HOP in request.headers else None

    def _refuse(self, request: web.Request, label: str, fault: Fault) -> Envelope:
        self._metrics.count(label, "refused")
        self._note(request, label, "refused", fault.message)
        return envelope(fault)

    def _label(self, model: str) -> str:
        """The model in the metrics: only names that somebody declared."""
        declared = any(model in peer.models for peer in self._settings.peers)
        return model if declared or (self._backends and self._backends.takes(model)) else ""

    def _default_model(self) -> str | None:
        """What a request means that names no model: what was set, else the active backend's."""
        brought = self._backends.default_model if self._backends else None
        return self._settings.default_model or brought

    def _filler(
        self, request: web.Request, asked: Asked, owner: ModelEntry | None
    ) -> Filler | None:
        """What is said during the wait; nothing to who asked for no stream."""
        mode = owner.keepalive if owner else "comment"
        if not owner and self._backends:
            mode = self._backends.keepalive(asked.model)
        if not asked.stream or mode == "off":
            return None
        if mode == "comment":
            return Comments()
        if request.path not in (CHAT, TEXT):
            return None
        id = f"chatcmpl-{secrets.token_hex(12)}"
        return Chunks(id, int(time.time()), asked.model, chat=request.path == CHAT)


def _now() -> float:
    return asyncio.get_running_loop().time()
