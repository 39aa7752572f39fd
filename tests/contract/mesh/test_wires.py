"""A kept connection to an engine is used again, and whatever breaks is said for what it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from meshctl.mesh.upstreams import Redirected, Upstreams
from meshctl.mesh.wire.connection import AHEAD_BYTES, Garbled, Stale
from meshctl.mesh.wire.pool import Wires

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Act = Callable[[Wires, int], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
CHUNKED = STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n"


class Engine:
    """Says these bytes to one request after the other, then hangs up; and counts."""

    def __init__(self, *says: bytes) -> None:
        self.connections = 0
        self.ended = asyncio.Event()
        self._says = says

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for said in self._says:
                await reader.readuntil(b"body")
                writer.write(said)
                await writer.drain()
            await reader.readuntil(b"body")
        self.ended.set()


def with_engine(serve: Serve, act: Act, idle_s: float = 30) -> None:
    serving: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        serving.add(task)
        with contextlib.suppress(ConnectionError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def run() -> None:
        wires = Wires(idle_s, 5)
        async with asyncio.timeout(60), await asyncio.start_server(served, "127.0.0.1", 0) as all:
            try:
                await act(wires, all.sockets[0].getsockname()[1])
            finally:
                wires.close()
                await asyncio.gather(*serving)

    asyncio.run(run())


async def said(wires: Wires, port: int) -> bytes:
    async with await wires.post(port, "/", {}, b"body", fresh=False) as answer:
        return await answer.read()


def test_one_connection_serves_one_request_after_the_other() -> None:
    engine = Engine(OK, CHUNKED + b"0\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" + OK)

    async def act(wires: Wires, port: int) -> None:
        assert [await said(wires, port) for _ in range(3)] == [b"ok", b"one", b"ok"]

    with_engine(engine, act)

    assert engine.connections == 1


def test_two_requests_at_once_have_a_connection_each() -> None:
    engine = Engine(CHUNKED)

    async def act(wires: Wires, port: int) -> None:
        first = await wires.post(port, "/", {}, b"body", fresh=False)
        second = await wires.post(port, "/", {}, b"body", fresh=False)
        assert (first.status, first.content_type) == (200, "text/event-stream")
        assert [await first.readany(), await second.readany()] == [b"one", b"one"]

    with_engine(engine, act)

    assert engine.connections == 2


def test_a_kept_connection_that_ends_without_a_byte_is_said_and_nothing_asked_in_silence() -> None:
    engine = Engine(OK)

    async def act(wires: Wires, port: int) -> None:
        assert await said(wires, port) == b"ok"
        with pytest.raises(Stale):
            await said(wires, port)
        assert engine.connections == 1
        async with await wires.post(port, "/", {}, b"body", fresh=True) as answer:
            assert await answer.read() == b"ok"

    with_engine(engine, act)

    assert engine.connections == 2


def test_a_fresh_connection_is_a_new_one_although_others_are_kept() -> None:
    engine = Engine(OK, OK)

    async def act(wires: Wires, port: int) -> None:
        assert await said(wires, port) == b"ok"
        async with await wires.post(port, "/", {}, b"body", fresh=True) as answer:
            assert await answer.read() == b"ok"

    with_engine(engine, act)

    assert engine.connections == 2


@pytest.mark.parametrize("status", [b"000", b"099", b"101", b"199", b"600", b"999"])
def test_a_status_that_no_answer_has_is_no_http(status: bytes) -> None:
    engine = Engine(OK.replace(b"200", status))

    async def act(wires: Wires, port: int) -> None:
        with pytest.raises(Garbled, match="speaks no HTTP"):
            await said(wires, port)

    with_engine(engine, act)


def test_an_engine_that_only_says_that_more_is_to_come_is_not_heard_for_ever() -> None:
    engine = Engine(b"HTTP/1.1 100 Continue\r\n\r\n" * 4000)

    async def act(wires: Wires, port: int) -> None:
        with pytest.raises(Garbled, match="a head without an end"):
            await said(wires, port)

    with_engine(engine, act)


def test_what_came_before_a_wrong_piece_in_the_same_packet_is_given_out_first() -> None:
    engine = Engine(CHUNKED + b"ZZ\r\n")

    async def act(wires: Wires, port: int) -> None:
        answer = await wires.post(port, "/", {}, b"body", fresh=False)
        assert await answer.readany() == b"one"
        with pytest.raises(Garbled):
            await answer.readany()

    with_engine(engine, act)


def test_a_new_connection_that_dies_is_not_tried_again() -> None:
    engine = Engine()

    async def act(wires: Wires, port: int) -> None:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await said(wires, port)

    with_engine(engine, act)

    assert engine.connections == 1


def test_nobody_at_the_port_is_its_own_failure() -> None:
    async def act(wires: Wires, _: int) -> None:
        with pytest.raises(aiohttp.ClientConnectorError, match=r"127\.0\.0\.1:9"):
            await said(wires, 9)

    with_engine(Engine(), act)


@pytest.mark.parametrize(
    "head", [CHUNKED, STREAM + b"Content-Length: 9\r\n\r\none"], ids=["chunked", "sized"]
)
def test_what_came_before_a_body_broke_is_given_out_first(head: bytes) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"body")
        writer.write(head)

    async def act(wires: Wires, port: int) -> None:
        answer = await wires.post(port, "/", {}, b"body", fresh=False)
        await asyncio.sleep(0.1)  # the end is there, too, before anybody reads
        assert await answer.readany() == b"one"
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.readany()

    with_engine(hang_up, act)


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"body")
        writer.write(STREAM + b"\r\none")

    async def act(wires: Wires, port: int) -> None:
        assert await said(wires, port) == b"one"

    with_engine(hang_up, act)


def test_who_leaves_in_the_middle_frees_the_engine() -> None:
    engine = Engine(CHUNKED)

    async def act(wires: Wires, port: int) -> None:
        async with await wires.post(port, "/", {}, b"body", fresh=False) as answer:
            await answer.readany()
        await engine.ended.wait()

    with_engine(engine, act)


def test_who_is_cancelled_before_an_answer_frees_the_engine() -> None:
    engine = Engine(b"")

    async def act(wires: Wires, port: int) -> None:
        asking = asyncio.create_task(said(wires, port))
        while not engine.connections:
            await asyncio.sleep(0.01)
        asking.cancel()
        await engine.ended.wait()

    with_engine(engine, act)


@pytest.mark.parametrize("nonsense", [b"SSH-2.0-x\r\n\r\n", CHUNKED[:-1] + b"!", b"x" * 70_000])
def test_what_is_no_http_is_an_error_and_the_end_of_the_connection(nonsense: bytes) -> None:
    engine = Engine(nonsense)

    async def act(wires: Wires, port: int) -> None:
        with pytest.raises(aiohttp.ClientPayloadError, match="speaks no HTTP"):
            await said(wires, port)
        await engine.ended.wait()

    with_engine(engine, act)


def test_an_engine_that_is_far_ahead_has_to_wait() -> None:
    gushed = asyncio.Event()

    async def gush(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"body")
        piece = b"x" * AHEAD_BYTES
        writer.write(STREAM + b"Content-Length: %d\r\n\r\n" % (200 * len(piece)))
        for _ in range(200):
            writer.write(piece)
            await writer.drain()
        gushed.set()

    async def act(wires: Wires, port: int) -> None:
        answer = await wires.post(port, "/", {}, b"body", fresh=False)
        await asyncio.sleep(0.3)
        assert not gushed.is_set()
        assert len(await answer.read()) == 200 * AHEAD_BYTES

    with_engine(gush, act)


def test_a_connection_that_nobody_uses_is_given_up() -> None:
    engine = Engine(OK)

    async def act(wires: Wires, port: int) -> None:
        await said(wires, port)
        await engine.ended.wait()

    with_engine(engine, act, idle_s=0.05)


def test_a_redirect_is_an_error_here_too() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: /token\r\nContent-Length: 0\r\n\r\n"

    async def act(_: Wires, port: int) -> None:
        upstreams = Upstreams()
        with pytest.raises(Redirected, match="it answered 307"):
            await upstreams.engine(f"http://127.0.0.1:{port}", "/", {}, b"body", fresh=False)
        await upstreams.close()

    with_engine(Engine(moved), act)
