"""The HTTP server: loopback only, admin routes, faults, error envelopes, then the services."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from meshctl.emulator import faults
from meshctl.emulator.admin import AdminApi
from meshctl.emulator.cloud import Cloud
from meshctl.emulator.failures import ApiError, invalid, missing
from meshctl.emulator.rates import Rates

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LOOPBACK = re.compile(r"^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d+)?$")
_PROXIED = re.compile(r"^([a-z0-9-]+[-.])?emu\.internal(:\d+)?$")
"""Names that mean this server to a client that uses it as its proxy, as gcloud does (facts s10).
The top level `internal` is nobody's, so that no page can be served under such a name."""
_PLAIN = re.compile(r"^[A-Za-z0-9_-][A-Za-z0-9.:_-]*$")
_LARGEST_JSON_BYTES = 32 << 20
_log = logging.getLogger("meshctl.emulator")


class Server:
    """Dispatches each request; the services' routes are swapped as a whole on a reset."""

    def __init__(self, cloud: Cloud, stop: asyncio.Event) -> None:
        self._cloud, self._rates = cloud, Rates(cloud.settings)
        self._admin = AdminApi(cloud, stop, self._swap_routes)
        self._swap_routes()
        self._app = web.Application(client_max_size=_LARGEST_JSON_BYTES)
        self._app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=2.0)

    def _swap_routes(self) -> None:
        router = self._cloud.router()
        self._admin.add_to(router)
        self._router = router

    async def open(self) -> None:
        """Start listening on the cloud's port; OSError when it is taken."""
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._cloud.port)
        await self._site.start()

    async def stop_listening(self) -> None:
        """Take no new connections."""
        await self._site.stop()

    async def close(self) -> None:
        """Stop listening; answers under way are finished."""
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._guarded(request)
        except ApiError as err:
            return web.json_response(err.body(), status=err.http)
        except web.HTTPException:
            raise
        except Exception as err:
            _log.exception("%s %s", request.method, request.path)
            body = ApiError("INTERNAL", f"Internal error: {err!r}").body()
            return web.json_response(body, status=500)

    async def _guarded(self, request: web.Request) -> web.StreamResponse:
        # A page in a browser must not reach this server by a name of its own.
        host = request.headers.get("Host", "")
        if not _LOOPBACK.match(host) and not _PROXIED.match(host):
            raise ApiError("PERMISSION_DENIED", "Only loopback host names are served.")
        if request.path.startswith("/emulator/"):
            return await self._dispatch(request)
        self._rates.take(request.method, request.path)
        await self._cloud.faults.meet(request.method, request.path_qs)
        found = faults.met.get()
        try:
            # A cut request is never carried out; of a lost one only the answer never arrives.
            return web.Response() if found.cut else await self._dispatch(request)
        finally:
            if (found.cut or found.lost) and request.transport is not None:
                request.transport.abort()

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        found = await self._router.resolve(request)
        if found.http_exception is not None:
            raise missing(f"No such method: {request.method} {request.path}")
        for key in ("project", "location"):
            # They become names of folders.
            if key in found and not _PLAIN.match(found[key]):
                raise invalid(f"Invalid {key} '{found[key]}'.", key)
        # The handlers read their parameters from match_info, as with any application.
        request.match_info.clear()
        request.match_info.update(found)
        return await found.handler(request)
