"""What the soak found, each as a test of its own."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp
from aiohttp import web

from meshctl.mesh.outlet import Left, Outlet


def test_an_answer_that_is_opened_on_a_closing_connection_has_no_client() -> None:
    seen: list[BaseException] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        try:
            await Outlet(request).open({}, b": accepted\n\n", theirs=False)
        except Exception as error:
            seen.append(error)
        return web.Response()

    asyncio.run(asked_once(handler))

    assert [type(error) for error in seen] == [Left]


async def asked_once(handler: web.RequestHandler) -> None:  # type: ignore[type-arg]
    """One request to a server with that handler; what comes back does not matter."""
    server = web.Application()
    server.router.add_post("/", handler)
    runner = web.AppRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with aiohttp.ClientSession() as http:
            with suppress(aiohttp.ClientError):
                await http.post(site.name)
    finally:
        await runner.cleanup()
