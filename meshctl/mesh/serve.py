"""The life of a mesh: the default engine first, then the port, then until SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import importlib
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from meshctl.errors import Unreachable
from meshctl.mesh.child import Child, check
from meshctl.mesh.fetch.child import bring
from meshctl.mesh.fetch.store import Payloads
from meshctl.mesh.foreign import adopt
from meshctl.mesh.launch import Launch, launch_of
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.router import Local, route
from meshctl.mesh.settings import Settings
from meshctl.mesh.supervisor import Supervisor

if TYPE_CHECKING:
    from aiohttp import web

    from meshctl.mesh.surface import Surface

CLOSE_S = 0.2
"""For the last bytes of answers that were cut at the end of draining."""
GARBAGE = 20_000
"""Objects made between two searches for cycles: a request makes few, and a twelfth of its time went
into searches at Python's own 700."""


def run(settings: Settings, environ: Mapping[str, str], log: Log) -> None:
    """Serves until SIGTERM or SIGINT. Raises Unreachable when the default engine does not start."""
    adopt(log)
    launches = [launch_of(entry, settings.models_dir) for entry in settings.models]
    with asyncio.Runner(loop_factory=_fastest_loop()) as runner:
        runner.run(_serve(settings, launches, environ, log))


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where the image has it; None is Python's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return cast(Callable[[], asyncio.AbstractEventLoop], uvloop.new_event_loop)


async def _serve(
    settings: Settings, launches: list[Launch], environ: Mapping[str, str], log: Log
) -> None:
    async def start(launch: Launch) -> Child:
        child = Child(launch, log)
        timeout_s = launch.load_timeout_s or settings.load_timeout_s
        await child.start(environ, settings.engine_dir, timeout_s)
        return child

    async def fetch(launch: Launch) -> None:
        await bring(launch, environ, log)

    payloads = Payloads(
        launches, settings.models_dir, settings.cache_bytes, fetch, log, settings.rules.queue
    )
    stop = asyncio.create_task(_stop_signal().wait())
    metrics = Metrics()
    supervisor = Supervisor(
        launches,
        lambda launch: payloads.load(launch, start),
        log,
        settings.rules,
        lambda launch: check(launch, settings.engine_dir),
        metrics,
        payloads,
    )
    prepared = asyncio.create_task(_prepare(settings, supervisor))
    try:
        await asyncio.wait({prepared, stop}, return_when=asyncio.FIRST_COMPLETED)
        if prepared.done():
            prepared.result()
            await _listen(settings, supervisor, log, metrics, stop)
    finally:
        prepared.cancel()
        await supervisor.stop()
        log.say("info", "stopped")


def _stop_signal() -> asyncio.Event:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


async def _prepare(settings: Settings, supervisor: Supervisor) -> None:
    """The default engine loads while the HTTP library is imported, which takes a third of a second.

    The import may run in a thread; starting an engine may not (child.py says why).
    """
    default = route(settings.default_model or "", settings.models, ())
    if isinstance(default, Local):
        supervisor.begin(default.model.id)
        await asyncio.sleep(0)
    await asyncio.to_thread(importlib.import_module, "meshctl.mesh.surface")
    if isinstance(default, Local):
        await supervisor.ready(default.model.id)
    supervisor.begin_pinned()


async def _listen(
    settings: Settings,
    supervisor: Supervisor,
    log: Log,
    metrics: Metrics,
    stop: asyncio.Task[bool],
) -> None:
    """Takes requests until the signal, from clients and on the admin socket where there is one."""
    from meshctl.mesh.surface import Surface
    from meshctl.mesh.switch.front import front
    from meshctl.mesh.upstreams import Upstreams

    upstreams = Upstreams()
    try:
        async with front(settings, upstreams, metrics, log) as backends:
            surface = Surface(settings, supervisor, upstreams, log, metrics, backends)
            await _take(surface, settings, log, stop)
    finally:
        await upstreams.close()


async def _take(surface: Surface, settings: Settings, log: Log, stop: asyncio.Task[bool]) -> None:
    """Takes requests of clients until the signal, then lets those in flight finish."""
    from aiohttp import web

    from meshctl.mesh.silent import IDLE_S

    runner = web.AppRunner(
        surface.application(),
        access_log=None,
        handler_cancellation=True,  # a client that leaves frees its slot in the engine
        shutdown_timeout=CLOSE_S,  # the surface drains first, with its own limit
        keepalive_timeout=IDLE_S,
    )
    closing: asyncio.Task[None] | None = None
    try:
        _spare_the_collector()
        await runner.setup()
        assert runner.server
        closing = asyncio.create_task(surface.silent.close_them(runner.server))
        await _open(web.TCPSite(runner, "0.0.0.0", settings.port), settings.port)
        log.say("info", f"release {settings.release or '-'} listens on port {settings.port}")
        await stop
        log.say("info", "stopping: answers in flight may finish")
    finally:
        if closing:
            closing.cancel()
        await runner.cleanup()


def _spare_the_collector() -> None:
    """What is loaded by now stays for good, and need not be searched again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


async def _open(site: web.TCPSite, port: int) -> None:
    try:
        await site.start()
    except OSError as error:
        raise Unreachable(
            f"port {port} cannot be listened on: {error.strerror}",
            hint="set PORT to a free one",
            place="PORT",
        ) from None
