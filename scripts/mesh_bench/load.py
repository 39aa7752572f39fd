"""Asks for completions over plain connections, as cheaply as Python can, and counts what comes."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import cast

PATH = "/v1/chat/completions"
LONGEST_S = 120.0
"""A measurement that takes longer is none."""


@dataclass(frozen=True)
class Load:
    """What came back, and in what time."""

    count: int
    seconds: float
    latencies_s: tuple[float, ...] = ()


class Connection(asyncio.Protocol):
    """One kept connection; one request at a time."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[bytes] | None = None
        self._data: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self.asks_stream = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(error or ConnectionError(b"".join(self._data)[-300:]))

    def data_received(self, data: bytes) -> None:
        self._data.append(data)
        if self._answer and not self._answer.done() and self._is_over(data):
            self._answer.set_result(b"".join(self._data))

    def _is_over(self, last: bytes) -> bool:
        """The last piece of a chunked body, or as many bytes as were said; never inside a word."""
        if self.asks_stream:
            return b"".join(self._data[-2:]).endswith(b"\r\n0\r\n\r\n")
        if last.endswith(b"\r\n0\r\n\r\n"):
            return True
        head, blank, body = b"".join(self._data).partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        return bool(blank and length) and len(body) >= int(length)

    def heard(self) -> bytes:
        """What has come of the answer so far."""
        return b"".join(self._data)

    async def ask(self, request: bytes) -> bytes:
        """The whole answer to the whole request. Raises ConnectionError for a broken one."""
        assert self._transport
        self._data = []
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Hangs up."""
        assert self._transport
        self._transport.close()


def request_of(**asked: object) -> bytes:
    """A whole request for the null model."""
    message = {"role": "user", "content": "Say a word."}
    body = json.dumps({"model": "null", "messages": [message]} | asked).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def connect(port: int) -> Connection:
    """A connection to a proxy here."""
    loop = asyncio.get_running_loop()
    return (await loop.create_connection(Connection, "127.0.0.1", port))[1]


async def unary(port: int, count: int, at_once: int) -> Load:
    """So many completions over so many connections. Raises AssertionError for a wrong one."""
    request, latencies = request_of(), []

    async def some(share: int) -> None:
        connection = await connect(port)
        for _ in range(share):
            began = time.perf_counter()
            answer = await connection.ask(request)
            latencies.append(time.perf_counter() - began)
            assert b" 200 " in answer[:16] and b'"word"' in answer, answer
        connection.close()

    began = time.perf_counter()
    async with asyncio.timeout(LONGEST_S):
        await asyncio.gather(*(some(count // at_once) for _ in range(at_once)))
    return Load(len(latencies), time.perf_counter() - began, tuple(latencies))


async def streams(port: int, count: int, words: int) -> Load:
    """So many streams at once, each of so many words. Raises AssertionError for a lost word."""
    request = request_of(stream=True, max_tokens=words)

    async def one() -> int:
        connection = await connect(port)
        connection.asks_stream = True
        answer = await connection.ask(request)
        connection.close()
        assert b"data: [DONE]" in answer, answer[-300:]
        return answer.count(b'" word')

    began = time.perf_counter()
    async with asyncio.timeout(LONGEST_S):
        seen = await asyncio.gather(*(one() for _ in range(count)))
    assert sum(seen) == count * words, f"{sum(seen)} of {count * words} words came"
    return Load(sum(seen), time.perf_counter() - began)
