"""One connection to an engine on this machine, and the answer that comes over it.

What is wrong raises what aiohttp's client would raise, so that callers know one family of errors;
but what came before a connection broke is given out first.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Protocol, cast

import aiohttp

from meshctl.mesh.wire.framing import INTERIM, Body, Head, Malformed, read_head

AHEAD_BYTES = 2**18
"""What may have come and not been taken before the engine has to wait."""
HEAD_BYTES = 2**16
"""Of the head of an answer, those before it that only say that more is to come included."""


class Stale(aiohttp.ServerDisconnectedError):
    """A kept connection ended without a byte: maybe long ago, maybe with the request in hand."""


class Garbled(aiohttp.ClientPayloadError):
    """What came is no HTTP. Somebody has the request and answers, so nobody else is asked."""


class Begun(aiohttp.ClientPayloadError):
    """A body broke off of which some had come, and none was given out."""


class Answer:
    """One answer, whose body comes bit by bit; leave its context to be done with it."""

    def __init__(self, wire: Wire, head: Head) -> None:
        self.status = head.status
        self.headers = head.headers
        self._wire: Wire | None = wire
        self._pieces: list[bytes] = []
        self._ahead = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: aiohttp.ClientError | None = None

    @property
    def content(self) -> Answer:
        """Where to read, as aiohttp has it."""
        return self

    @property
    def content_type(self) -> str:
        """Without parameters, in small letters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def readany(self) -> bytes:
        """What has come, or what comes next; empty at the end. Raises aiohttp.ClientError for a
        body that broke off."""
        if not self._pieces and self._wire:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self._pieces:
            data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            self._ahead = 0
            if self._wire:
                self._wire.resume()
            return data
        if self._error:
            raise self._error
        return b""

    async def read(self) -> bytes:
        """All of it. Raises aiohttp.ClientError."""
        pieces = []
        while piece := await self.readany():
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Frees the engine, if it is still at it."""
        if self._wire:
            self._wire.abort()

    async def __aenter__(self) -> Answer:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def take(self, data: bytes) -> bool:
        """Bytes of the body have come; whether that is enough for now."""
        self._pieces.append(data)
        self._ahead += len(data)
        self._wake()
        return self._ahead > AHEAD_BYTES

    def end(self, error: aiohttp.ClientError | None = None) -> None:
        """Nothing more will come."""
        self._wire, self._error = None, error
        self._wake()

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


Upstream = aiohttp.ClientResponse | Answer
"""What an engine or a peer says; both are read alike."""


class Keeper(Protocol):
    """Hears of the life of a connection."""

    def opened(self, wire: Wire) -> None:
        """It is there."""

    def keep(self, wire: Wire) -> None:
        """It may serve again, for a while."""

    def forget(self, wire: Wire) -> None:
        """It is closed."""


class Wire(asyncio.Protocol):
    """One connection to an engine, with one request at a time."""

    def __init__(self, keeper: Keeper, port: int) -> None:
        self.port = port
        self.idle: asyncio.TimerHandle | None = None
        """Set while nobody uses it: when it is closed for that."""
        self._keeper = keeper
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._head = b""
        self._interim = 0
        """Bytes of heads that only said that more is to come."""
        self._awaited: asyncio.Future[Answer] | None = None
        self._answer: Answer | None = None
        self._body: Body | None = None

    async def ask(self, request: bytes) -> Answer:
        """The answer to a whole request, its body still to come. Raises aiohttp.ClientError, of
        which ServerDisconnectedError says that not a byte came."""
        if self._transport is None or self._transport.is_closing():
            raise aiohttp.ServerDisconnectedError
        self._head, self._interim, self._body = b"", 0, None
        self._awaited = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._awaited
        except BaseException:
            self.abort()
            raise

    def resume(self) -> None:
        """There is room again."""
        if self._paused and self._transport:
            self._paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """Hangs up at once."""
        if self._transport:
            self._transport.abort()
        self._lost(ConnectionAbortedError())

    def usable(self) -> bool:
        """It is open, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._keeper.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._keeper.forget(self)
        self._lost(error)

    def data_received(self, data: bytes) -> None:
        try:
            if self._body is not None and self._answer:
                self._pass(data)
            elif self._awaited:
                self._read_head(data)
            else:
                self.abort()  # it speaks unasked
        except Malformed as wrong:
            if wrong.before and self._answer:
                self._answer.take(wrong.before)
            self._fail(Garbled(f"it speaks no HTTP: {wrong}"))
            self.abort()

    def _read_head(self, data: bytes) -> None:
        self._head += data
        while self._body is None:
            head, blank, rest = self._head.partition(b"\r\n\r\n")
            if not blank:
                if self._interim + len(head) > HEAD_BYTES:
                    raise Malformed("a head without an end")
                return
            self._head = rest
            read = read_head(head)
            if read.status not in INTERIM:
                return self._begin(read, rest)
            self._interim += len(head) + 4

    def _begin(self, head: Head, rest: bytes) -> None:
        assert self._awaited
        self._body, self._answer = Body(head), Answer(self, head)
        if not self._awaited.done():
            self._awaited.set_result(self._answer)
        self._awaited = None
        self._pass(rest)

    def _pass(self, data: bytes) -> None:
        assert self._answer and self._body and self._transport
        piece = self._body.feed(data)
        if piece and self._answer.take(piece) and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        if self._body.over:
            self._done(self._body)

    def _done(self, body: Body) -> None:
        """The answer is whole; the connection may serve the next request."""
        assert self._answer and self._transport
        self._answer.end()
        self._answer = None
        self.resume()
        if body.keeps and not self._transport.get_write_buffer_size():
            self._keeper.keep(self)
        else:
            self._transport.close()

    def _lost(self, error: Exception | None) -> None:
        if self._awaited and not self._head:
            self._fail(aiohttp.ServerDisconnectedError())
        elif self._answer and self._body and self._body.ends_with_connection and not error:
            self._answer.end()
            self._answer = None
        else:
            self._fail(aiohttp.ClientPayloadError("the answer broke off"))

    def _fail(self, error: aiohttp.ClientError) -> None:
        awaited, answer = self._awaited, self._answer
        self._awaited = self._answer = None
        if awaited and not awaited.done():
            awaited.set_exception(error)
        if answer:
            answer.end(error)
