"""A client that reads slowly never keeps an engine for long, however it drips."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from aiohttp import web

from meshctl.mesh.outlet import BEHIND_BYTES, Left, Outlet

PIECE = b"x" * 2**20
SYSTEM_BYTES = 32 * 2**20
"""More than the system itself keeps of what is sent on one connection (tcp_wmem, tcp_rmem)."""


def test_a_client_that_drips_is_cut_off_while_an_engine_waits_for_it() -> None:
    told = asyncio.run(asyncio.wait_for(_dripping(), 120))

    assert told == "the client was too slow for 2 s"


async def _dripping() -> str:
    """What the sender of a long answer is told about a client that takes a megabyte a second."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(request: web.Request) -> web.StreamResponse:
        outlet = Outlet(request, stall_s=2.0)
        await outlet.open({"Content-Type": "text/event-stream"}, b"", theirs=False)
        try:
            for _ in range((BEHIND_BYTES + SYSTEM_BYTES) // len(PIECE)):
                await outlet.send(PIECE)
        except Left as left:
            told.set_result(str(left))
            raise
        told.set_result("everything was taken")
        return web.Response()

    runner = web.AppRunner(_serving(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with socket.create_connection(runner.addresses[0]) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: mesh\r\n\r\n")
            client.setblocking(False)
            return await _drip(client, told)
    finally:
        await runner.cleanup()


def _serving(answer: object) -> web.Application:
    app = web.Application()
    app.router.add_get("/", answer)  # type: ignore[arg-type]
    return app


async def _drip(client: socket.socket, told: asyncio.Future[str]) -> str:
    while not told.done():
        with suppress(BlockingIOError, ConnectionError):
            client.recv(65_536)
        await asyncio.sleep(0.05)
    return told.result()
