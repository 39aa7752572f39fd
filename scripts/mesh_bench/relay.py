"""aiohttp at both ends and nothing between them: what the mesh would cost if it did nothing.

python relay.py PORT UPSTREAM_PORT
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
from aiohttp import web


def application(upstream: int) -> web.Application:
    """Passes every POST on, and its answer back."""

    async def begin(app: web.Application) -> None:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4)
        timeout = aiohttp.ClientTimeout(total=None)
        app[SESSION] = aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=False
        )

    async def answer(request: web.Request) -> web.StreamResponse:
        url = f"http://127.0.0.1:{upstream}{request.path_qs}"
        body = await request.read()
        headers = {"Content-Type": "application/json"}
        async with request.app[SESSION].post(url, data=body, headers=headers) as far:
            if far.content_type != "text/event-stream":
                kind = {"Content-Type": far.headers["Content-Type"]}
                return web.Response(status=far.status, body=await far.read(), headers=kind)
            near = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await near.prepare(request)
            async for data in far.content.iter_any():
                await near.write(data)
            return near

    app = web.Application()
    app.on_startup.append(begin)
    app.router.add_post("/{path:.*}", answer)
    return app


SESSION = web.AppKey("session", aiohttp.ClientSession)


async def serve(port: int, upstream: int) -> None:
    """For ever."""
    runner = web.AppRunner(application(upstream), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=2048).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(serve(int(sys.argv[1]), int(sys.argv[2])))
