"""Holds a client until its answer comes: tells it where it stands, then passes the answer on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from aiohttp import web

from meshctl.mesh.answers import envelope
from meshctl.mesh.faults import Fault, event_of, no_stream
from meshctl.mesh.fillers import Filler
from meshctl.mesh.framing import Frames, Passed
from meshctl.mesh.metrics import Metrics, Outcome, outcome_of
from meshctl.mesh.outlet import Left, Outlet

OWN = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}


class Pace(Protocol):
    """How soon and how often a client hears something."""

    @property
    def grace_s(self) -> float:
        """A request that need not wait is opened after so long at the latest. What refuses it
        within that time does so with its own status; after that, only with an event."""

    @property
    def answer_s(self) -> float:
        """Longest time to the first byte of an answer that is no stream."""

    @property
    def silence_s(self) -> float:
        """An answer that has begun and goes on no more is given up after so long."""

    @property
    def keepalive_s(self) -> float:
        """Between two signs of life."""


class Hold:
    """One client and its answer.

    With a filler it is told at once that its request is accepted, where it stands, and every
    few seconds that it is not forgotten, up to the first word of the model. Without one, for
    an answer that is no stream or a model with `keepalive: off`, it just waits.
    """

    def __init__(
        self, request: web.Request, filler: Filler | None, pace: Pace, metrics: Metrics
    ) -> None:
        self.headers: Mapping[str, str] = {}
        """What is known of the answer when it has to be opened early."""
        self.theirs = False
        """A peer will answer: the release is not known before it does."""
        self._outlet = Outlet(request)
        self._filler = filler
        self._pace = pace
        self._metrics = metrics
        self._began = asyncio.get_running_loop().time()
        self._ahead = 0
        self._said = 0
        self._news = asyncio.Event()
        self._opening = asyncio.Lock()
        self._voice: asyncio.Task[None] | None = None
        self._seen: set[str] = set()
        self.silence_s = pace.silence_s
        """How long its answer may fall silent."""
        self.answer_s = pace.answer_s
        """How long nothing may come of one that is no stream."""
        self.why = ""
        """Why it failed, for the log."""
        self.outcome: Outcome = "left"
        """How it ended, as far as is known: a client that leaves says nothing."""

    async def __aenter__(self) -> Hold:
        if self._filler:
            self._voice = asyncio.create_task(self._speak(self._filler))
            self._metrics.held.add(1)
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._hush()

    def told(self, ahead: int) -> None:
        """So many requests are before this one; the client hears of it."""
        self._ahead = ahead
        self._news.set()

    def frames(self) -> Frames:
        """The framing of its answer."""
        return Frames(self._filler.rewrite if self._filler else None)

    async def begin(self, headers: Mapping[str, str], ahead: int | None) -> None:
        """The answer comes; its headers are the client's, unless it was opened before.

        `ahead`: a peer answers, and says how many requests are before this one there.
        """
        self._ahead = ahead or 0
        await self._open(headers, theirs=False)

    async def pass_on(self, passed: Passed) -> None:
        """Events of the answer. Raises Left."""
        if passed.speaks:
            self._hush()
            self._first("token")
        if passed.ahead is not None and self._voice:
            self.told(passed.ahead)
        if passed.data:
            self._first("event")
            await self._outlet.send(passed.data)

    async def end(self) -> web.StreamResponse:
        """The clean end of a stream. Raises Left."""
        self._hush()
        await self._outlet.close()
        self.outcome = "answered"
        assert self._outlet.answer
        return self._outlet.answer

    async def whole(
        self, status: int, body: bytes, headers: Mapping[str, str], who: str
    ) -> web.StreamResponse:
        """An answer that is no stream; where one was begun, it can only be an error."""
        if await self._closed():
            self.outcome = outcome_of(status)
            self.why = f"{who} said {status}" if status >= 400 else ""
            return web.Response(status=status, body=body, headers=headers)
        self.why = f"{who} gave no stream"
        return await self._break_off(event_of(body) or no_stream(who).event())

    async def fail(self, fault: Fault, headers: Mapping[str, str]) -> web.StreamResponse:
        """A failure, as the status where there is none yet, else as an event."""
        self.why = fault.message
        if fault.code == "upstream_cut":
            self._metrics.truncations.add(1)
        if await self._closed():
            self.outcome = outcome_of(fault.status)
            return envelope(fault, headers)
        return await self._break_off(fault.event())

    async def broken(self) -> web.StreamResponse:
        """The answer itself ended with an error event."""
        self.why = "the answer ended with an error event"
        return await self._break_off(b"")

    async def settle(self) -> None:
        """Waits for a slow client. Raises Left."""
        await self._outlet.settle()

    async def _closed(self) -> bool:
        """Whether the client has got nothing yet; from here on it gets nothing by itself."""
        async with self._opening:
            self._hush()
            return self._outlet.answer is None

    async def _break_off(self, event: bytes) -> web.StreamResponse:
        self._hush()
        self.outcome = "failed"
        assert self._outlet.answer
        with suppress(Left):
            if event:
                await self._outlet.send(event)
        self._outlet.cut()
        return self._outlet.answer

    async def _open(self, headers: Mapping[str, str], *, theirs: bool) -> None:
        async with self._opening:
            if self._outlet.answer is None:
                self._said = self._ahead
                first = self._filler.accepted(self._ahead) if self._filler else b""
                await self._outlet.open(headers, first, theirs=theirs)
                self._first("byte")

    async def _speak(self, filler: Filler) -> None:
        """Opens the answer when the client has to wait, and talks until the model does."""
        with suppress(Left):
            await self._hear(self._pace.grace_s)
            await self._open(OWN | dict(self.headers), theirs=self.theirs)
            while True:
                await self._report(filler)
                await self._outlet.send(filler.keep_alive())
                self._metrics.keep_alives.add(1)

    async def _report(self, filler: Filler) -> None:
        """Says where the client stands, at each change, until a keep-alive is due."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._pace.keepalive_s
        while (left := due - loop.time()) > 0:
            await self._hear(left)
            if self._ahead != self._said:
                self._said = self._ahead
                if said := filler.position(self._ahead):
                    await self._outlet.send(said)

    async def _hear(self, seconds: float) -> None:
        """Returns at the next news, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def _hush(self) -> None:
        if self._voice:
            self._voice.cancel()
            self._voice = None
            self._metrics.held.add(-1)

    def _first(self, what: str) -> None:
        if what not in self._seen:
            self._seen.add(what)
            self._metrics.first[what].observe(asyncio.get_running_loop().time() - self._began)
