"""The part of the HTTP surface that is for operators: the last lines of the log, and unloading."""

from __future__ import annotations

import ipaddress
import re

from aiohttp import web

from meshctl.mesh.answers import ID, envelope
from meshctl.mesh.faults import Fault
from meshctl.mesh.line import Line, dated
from meshctl.mesh.log import Log
from meshctl.mesh.orders import Lines, busy, read_lines, read_unload, told
from meshctl.mesh.settings import Settings
from meshctl.mesh.supervisor import Supervisor

TEXT = "text/plain"


class Operating:
    """Answers those who run the mesh.

    Where no key is set, it answers on loopback only: a mesh that is open to all for answers is not
    open to all for orders.
    """

    def __init__(self, settings: Settings, supervisor: Supervisor, log: Log) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._log = log

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The routes."""
        router.add_post("/unload", self.unload)
        router.add_get("/logs", self.logs)

    async def unload(self, request: web.Request) -> web.StreamResponse:
        """Ends engines that nobody needs; what is said to be unloaded has left the card."""
        if fault := self._closed(request):
            return envelope(fault)
        asked = read_unload(await request.read(), self._settings.models)
        if isinstance(asked, Fault):
            return envelope(asked)
        stays = await self._supervisor.unload(asked.models)
        gone = ", ".join(model for model, why in stays.items() if why is None) or "nothing"
        self._log.say("info", f"unloaded on request: {gone}", request=request[ID])
        refused = busy(*next(iter(stays.items()))) if asked.named else None
        return envelope(refused) if refused else web.json_response(told(stays))

    async def logs(self, request: web.Request) -> web.StreamResponse:
        """The last lines as text; followed, also those to come."""
        wanted = self._closed(request) or read_lines(request.query, self._settings.models)
        if isinstance(wanted, Fault):
            return envelope(wanted)
        if wanted.follow:
            return await self._follow(request, wanted)
        lines = self._log.kept.last(wanted.count, wanted.model)
        return web.Response(body=_page(lines), content_type=TEXT, charset="utf-8")

    async def _follow(self, request: web.Request, wanted: Lines) -> web.StreamResponse:
        """Until the client leaves or the mesh ends; one that reads slowly may miss lines."""
        answer = web.StreamResponse(headers={"Cache-Control": "no-cache"})
        answer.content_type, answer.charset = TEXT, "utf-8"
        await answer.prepare(request)
        number = 0
        with self._log.kept.listening() as news:
            while True:
                news.clear()
                if lines := self._log.kept.last(wanted.count, wanted.model, after=number):
                    number = lines[-1].number
                    await answer.write(_page(lines))
                await news.wait()

    def _closed(self, request: web.Request) -> Fault | None:
        if self._settings.keys:
            return None
        if _on_loopback(request):
            return _of_a_page(request)
        message = "no MESH_API_KEYS are set, so this is answered on the mesh's own machine only"
        return Fault(403, message, "keys_required")


def _page(lines: list[Line]) -> bytes:
    return "".join(f"{dated(line)}\n" for line in lines).encode(errors="replace")


def _of_a_page(request: web.Request) -> Fault | None:
    """A web page can have the browser of this machine ask in its name: then the browser says Origin
    or Sec-Fetch-Site, or Host is a name of the page's own that was made to lead here."""
    site = request.headers.get("Sec-Fetch-Site", "none")
    if "Origin" not in request.headers and site == "none" and _is_loopback(request.host):
        return None
    message = "without MESH_API_KEYS no web page and no name but localhost is answered"
    return Fault(403, message, "keys_required")


def _is_loopback(host: str) -> bool:
    """Of a Host header: localhost, or an address of loopback, with or without a port."""
    name = re.sub(r":[0-9]*$", "", host).strip("[]").lower()
    return name == "localhost" or name.endswith(".localhost") or _is_loopback_address(name)


def _on_loopback(request: web.Request) -> bool:
    return _is_loopback_address(request.remote or "")


def _is_loopback_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False
