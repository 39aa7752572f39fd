"""A kept connection that died is tried again once, a new one is not; redirects are not followed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from meshctl.mesh.upstreams import Redirected, Upstreams

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers the first `answers` requests of each connection, then closes without a byte."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError):  # the client hung up first
            for _ in range(self.answers):
                await reader.readuntil(b"body")
                writer.write(ANSWER)
            await reader.readuntil(b"body")
        writer.close()


class Redirecting:
    """Sends everybody to another path of itself, and counts who came."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        head = f"HTTP/1.1 {self.status} Moved\r\nLocation: /token\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        writer.close()


def with_server(
    server: Server | Redirecting, act: Callable[[Upstreams, str], Awaitable[None]]
) -> None:
    async def run() -> None:
        upstreams = Upstreams()
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            try:
                await act(upstreams, f"http://127.0.0.1:{port}/")
            finally:
                await upstreams.close()

    asyncio.run(run())


async def post(upstreams: Upstreams, url: str) -> bytes:
    async with await upstreams.post(url, {}, b"body") as answer:
        return await answer.read()


def test_a_stale_kept_connection_costs_the_client_nothing() -> None:
    server = Server(answers=1)
    answers = []

    async def act(upstreams: Upstreams, url: str) -> None:
        answers.extend([await post(upstreams, url), await post(upstreams, url)])

    with_server(server, act)

    assert answers == [b"ok", b"ok"]
    assert server.connections == 2


def test_a_new_connection_that_dies_is_not_tried_again() -> None:
    server = Server(answers=0)

    async def act(upstreams: Upstreams, url: str) -> None:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await post(upstreams, url)

    with_server(server, act)

    assert server.connections == 1


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
def test_a_redirect_is_an_error_and_is_not_followed(status: int) -> None:
    server = Redirecting(status)

    async def act(upstreams: Upstreams, url: str) -> None:
        with pytest.raises(Redirected, match=f"it answered {status}"):
            await post(upstreams, url)
        with pytest.raises(Redirected, match=f"it answered {status}"):
            await upstreams.get_text(url, {"Metadata-Flavor": "Google"}, 5)

    with_server(server, act)

    assert server.asked == 2
