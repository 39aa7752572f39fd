"""Opens what a mesh with a switch has more than others, and closes it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from aiohttp import web

from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.settings import Settings
from meshctl.mesh.switch.admin import Admin
from meshctl.mesh.switch.backends import Backends
from meshctl.mesh.switch.carrier import Switching
from meshctl.mesh.switch.readiness import Checks
from meshctl.mesh.switch.shelf import Shelf
from meshctl.mesh.switch.socket import opened
from meshctl.mesh.upstreams import Upstreams

CLOSE_S = 0.5
"""For the last answers on the admin socket; all of them are known by then."""


@asynccontextmanager
async def front(
    settings: Settings, upstreams: Upstreams, metrics: Metrics, log: Log
) -> AsyncIterator[Backends | None]:
    """The backends of a mesh with a switch, its admin socket open; None for one without.

    Raises UsageError for a file or a socket that cannot be used.
    """
    if settings.switch is None:
        yield None
        return
    with closing(Shelf(settings.switch.file)) as shelf:
        checks = Checks(upstreams)
        switching = Switching(
            shelf.read(), shelf.write, checks.until_ready, settings.rules.queue, log
        )
        runner = web.AppRunner(
            Admin(switching, checks, log).application(), access_log=None, shutdown_timeout=CLOSE_S
        )
        await runner.setup()
        async with _listening(runner, settings):
            active = switching.switch.active
            log.say("info", f"backend {active.name if active else '-'} is active")
            try:
                yield Backends(switching, upstreams, settings, metrics)
            finally:
                await switching.stop()


@asynccontextmanager
async def _listening(runner: web.AppRunner, settings: Settings) -> AsyncIterator[None]:
    assert settings.switch and runner.server
    path = settings.switch.socket
    try:
        heard = await asyncio.get_running_loop().create_unix_server(
            runner.server, sock=opened(path)
        )
        try:
            yield
        finally:
            heard.close()
            path.unlink(missing_ok=True)
    finally:
        await runner.cleanup()
