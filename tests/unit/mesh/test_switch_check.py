"""A backend is ready when it says so with 2xx, in time, at the place that was named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from meshctl.mesh.switch.readiness import Checks
from meshctl.mesh.upstreams import Upstreams
from meshctl.spec.switch import Backend

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def says(*data: bytes, forever: bytes = b"") -> Answer:
    """Says this to everybody who asks, and goes on with `forever` as long as he listens."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.writelines(data)
        try:
            while forever:
                writer.write(forever)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    return answer


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


def asked(answer: Answer, seconds: float, *, once: bool = False) -> str | None:
    async def run() -> str | None:
        upstreams = Upstreams()
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            backend = Backend(name="a", url=f"http://127.0.0.1:{port}", models=("m",))
            try:
                checks = Checks(upstreams)
                ask = checks.once if once else checks.until_ready
                return await ask(backend, seconds)
            finally:
                await upstreams.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        says(b"HTTP/1.1 204 No Content\r\n\r\n"),
        says(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=no\r\n\r\n\xff"),
        says(b"HTTP/1.1 200 OK\r\n\r\n", forever=b"x" * 2**16),
    ],
)
def test_a_backend_that_says_2xx_is_ready_whatever_else_it_says(answer: Answer) -> None:
    assert asked(answer, 20) is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "/health said 503"),
        (says(b"HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), "no redirects"),
        (says(b"\x00 nonsense\r\n\r\n"), "/health: "),
        (says(), "/health: Server disconnected"),
    ],
)
def test_any_other_answer_is_a_reason(answer: Answer, why: str) -> None:
    assert why in (asked(answer, 20, once=True) or "")


def test_one_that_says_nothing_is_not_waited_for_any_longer() -> None:
    assert asked(silent, 0.0) == "/health gave no answer within 0.2 s"


def test_one_that_becomes_ready_in_time_is_ready() -> None:
    count = 0

    async def third(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        status = b"200 OK" if count == 3 else b"503 No"
        await says(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")(reader, writer)

    assert asked(third, 20) is None
    assert count == 3
