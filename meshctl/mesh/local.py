"""Answers from the engines here: waits for a turn, and asks again when an engine is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import aiohttp
from aiohttp import web

from meshctl.errors import Unreachable
from meshctl.mesh import headers as head
from meshctl.mesh.faults import (
    Failed,
    engine_down,
    engine_lost,
    never_began,
    queue_full,
    upstream_failed,
)
from meshctl.mesh.hold import Hold
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.relay import first_bytes, relay
from meshctl.mesh.retry import Tries
from meshctl.mesh.supervisor import Supervisor
from meshctl.mesh.upstreams import Redirected, Upstreams
from meshctl.mesh.waiting import QueueFull, Waiting
from meshctl.mesh.wire.connection import Garbled, Stale

Word = TypeVar("Word")


@dataclass(frozen=True)
class Sending:
    """A request as it goes to whoever answers it."""

    model: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    stream: bool


class Patience(Protocol):
    """How often and after how long a lost request is sent again."""

    @property
    def connect_retries(self) -> int:
        """At most so often."""

    @property
    def connect_backoff_s(self) -> float:
        """After so many seconds."""


class _Away(aiohttp.ClientConnectionError):
    """The engine is not there at this moment."""


class Engines:
    """The engines of one mesh, asked one request at a time."""

    def __init__(
        self, supervisor: Supervisor, upstreams: Upstreams, patience: Patience, metrics: Metrics
    ) -> None:
        self._supervisor = supervisor
        self._upstreams = upstreams
        self._patience = patience
        self._metrics = metrics

    async def answer(self, hold: Hold, model: str, sending: Sending) -> web.StreamResponse:
        """The answer of an engine of this model, and of no other. Raises Failed and Left."""
        named = {head.MODEL: model}
        hold.headers, hold.theirs = named, False
        try:
            async with self._turn(hold, model):
                return await self._ask(hold, model, sending)
        except QueueFull as full:
            raise Failed(queue_full(model, full.retry_after_s), named) from None
        except Unreachable as down:
            raise Failed(engine_down(down.message), named) from None

    @asynccontextmanager
    async def _turn(self, hold: Hold, model: str) -> AsyncIterator[None]:
        """The turn; what happens before it is shown to the client and counted."""
        since: float | None = None
        now = asyncio.get_running_loop().time

        def told(waiting: Waiting) -> None:
            nonlocal since
            if since is None:
                since = now()
                self._metrics.waiting.add(1)
            hold.told(waiting.ahead)

        def granted() -> None:
            nonlocal since
            if since is not None:
                self._metrics.waiting.add(-1)
                self._metrics.wait.observe(now() - since)
                since = None

        try:
            async with self._supervisor.turn(model, told):
                granted()
                yield
        finally:
            granted()

    async def _ask(self, hold: Hold, model: str, sending: Sending) -> web.StreamResponse:
        """Asks the engine that the model has now, and again while that is safe.

        The turn is kept all the while, so nothing else is loaded in the engine's place.
        """
        why = ""
        tries: Tries | None = Tries(self._patience.connect_retries)
        while tries:
            try:
                return await self._ask_once(hold, model, sending, fresh=tries.fresh)
            except (Redirected, Garbled) as error:
                fault = upstream_failed(f"the engine of {model}", str(error))
                raise Failed(fault, hold.headers) from None
            except Stale:
                tries = tries.after_stale()
                continue
            except (_Away, aiohttp.ClientConnectorError) as error:
                tries, why = tries.after_refusal(), _why(error)
            except aiohttp.ClientError as error:
                tries, why = tries.after_death(), _why(error)
            await asyncio.sleep(self._patience.connect_backoff_s)
            why = self._supervisor.down(model) or why  # by now it is known how the engine ended
            self._metrics.retries.add(1 if tries else 0)
        raise Failed(engine_lost(model, why), hold.headers)

    async def _ask_once(
        self, hold: Hold, model: str, sending: Sending, *, fresh: bool
    ) -> web.StreamResponse:
        """Raises aiohttp.ClientError when the engine is lost before the first byte.

        One that is on its way back is waited for, however long its load takes.
        """
        while self._supervisor.returns(model):
            await asyncio.sleep(self._patience.connect_backoff_s)
        engine = self._supervisor.engine(model)
        if engine is None:
            raise _Away(f"the engine of {model} is being loaded again")
        who = f"the engine of {model}"
        longest_s = hold.silence_s if sending.stream else hold.answer_s
        asked = self._upstreams.engine(
            engine.url, sending.path, sending.headers, sending.body, fresh=fresh
        )
        async with await _heard(asked, hold, who, longest_s) as upstream:
            first = await _heard(first_bytes(upstream), hold, who, longest_s)
            headers = head.returned(upstream.headers, from_mesh=False) | dict(hold.headers)
            return await relay(hold, upstream, first, headers, who)


async def _heard(word: Awaitable[Word], hold: Hold, who: str, longest_s: float) -> Word:
    """The first that comes of an answer. Raises Failed when it does not come in time.

    Of one that is no stream nothing comes before its end, so it has longer; but a wedged engine
    kept its turn for ever once, and with it the card.
    """
    limit = asyncio.timeout(longest_s)
    try:
        async with limit:
            return await word
    except TimeoutError:
        if not limit.expired():
            raise
        raise Failed(never_began(who, longest_s), hold.headers) from None


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
