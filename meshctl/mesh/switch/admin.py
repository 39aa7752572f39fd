"""The admin routes of a mesh: who asks there may choose which backend answers everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from aiohttp import web
from pydantic import ValidationError

from meshctl.errors import SpecError
from meshctl.mesh.answers import envelope, guard
from meshctl.mesh.faults import Fault, bad_request
from meshctl.mesh.log import Log
from meshctl.mesh.switch.carrier import Switching
from meshctl.mesh.switch.events import (
    Add,
    Denied,
    Drain,
    Event,
    Order,
    Pause,
    Remove,
    Resume,
)
from meshctl.mesh.switch.readiness import Checks
from meshctl.spec.registry import Entry, refusal
from meshctl.spec.switch import Backend, DrainOrder, Health, PauseOrder, SwitchOrder

BODY_BYTES = 256 * 2**10
"""Largest order: a backend of 256 models with long names."""
MOST_TOLD = 4000
"""Characters of all mistakes in one order."""
M = TypeVar("M", bound=Entry)


class Admin:
    """Reads orders, hands them to the switch, and says what became of them."""

    def __init__(self, switching: Switching, checks: Checks, log: Log) -> None:
        self._switching = switching
        self._checks = checks
        self._log = log

    def application(self) -> web.Application:
        """The routes. A caller that hangs up stops nothing: its handler runs to its end."""
        application = web.Application(
            client_max_size=BODY_BYTES, middlewares=[guard(BODY_BYTES, self._log)]
        )
        router = application.router
        router.add_get("/state", self.state)
        router.add_post("/backends", self.add)
        router.add_delete("/backends/{name}", self.remove)
        router.add_get("/backends/{name}/check", self.check)
        router.add_post("/pause", self.pause)
        router.add_post("/resume", self.resume)
        router.add_post("/drain", self.drain)
        router.add_post("/switch", self.order)
        router.add_get("/switch/{operation}", self.outcome)
        return application

    async def state(self, _: web.Request) -> web.StreamResponse:
        """Who serves, who is known, and what is under way."""
        return _said(self._switching.state())

    async def add(self, request: web.Request) -> web.StreamResponse:
        """A backend is known from now on; again is no mistake."""
        return await self._ordered(request, Backend, Add)

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """A backend that answers nobody is forgotten."""
        name = request.match_info["name"]
        return await self._ask(lambda at, caller: Remove(at, caller, name))

    async def check(self, request: web.Request) -> web.StreamResponse:
        """Whether a backend is ready now; changes nothing."""
        name, now = request.match_info["name"], asyncio.get_running_loop().time
        known = (standing.backend for standing in self._switching.state().backends)
        backend = next((each for each in known if each.name == name), None)
        if backend is None:
            return envelope(Fault(404, f"no backend named {name!r}", "unknown_backend"))
        began = now()
        why = await self._checks.once(backend)
        return _said(Health(name=name, ready=why is None, why=why or "", seconds=now() - began))

    async def pause(self, request: web.Request) -> web.StreamResponse:
        """Requests that come from now on are held, for so long at most."""
        return await self._ordered(
            request, PauseOrder, lambda at, caller, order: Pause(at, caller, order.hold_at_most)
        )

    async def resume(self, _: web.Request) -> web.StreamResponse:
        """Held requests go to who is active."""
        return await self._ask(Resume)

    async def drain(self, request: web.Request) -> web.StreamResponse:
        """Answers when a backend answers nobody any more, or when the time is over."""
        return await self._ordered(
            request,
            DrainOrder,
            lambda at, caller, order: Drain(at, caller, order.backend, order.at_most),
        )

    async def order(self, request: web.Request) -> web.StreamResponse:
        """A whole switch in one call; asked for again, it is the same switch."""
        return await self._ordered(request, SwitchOrder, Order)

    async def outcome(self, request: web.Request) -> web.StreamResponse:
        """How a switch ended: 202 while it has not, 404 when nobody knows of it."""
        operation = request.match_info["operation"]
        outcome = self._switching.switch.outcome(operation)
        if outcome:
            return _said(outcome)
        state = self._switching.state()
        if state.operation == operation:
            return _said(state, status=202)
        return envelope(Fault(404, f"no operation {operation!r} is known", "unknown_operation"))

    async def _ordered(
        self, request: web.Request, kind: type[M], wish: Callable[[float, int, M], Event]
    ) -> web.StreamResponse:
        """What became of an order; one that cannot be meant is refused with every mistake in it."""
        try:
            order = kind.model_validate_json(await request.read())
        except ValidationError as error:
            return envelope(_mistakes(refusal(error, place=request.path, path=_dotted)))
        return await self._ask(lambda at, caller: wish(at, caller, order))

    async def _ask(self, wish: Callable[[float, int], Event]) -> web.StreamResponse:
        answer = await self._switching.ask(wish)
        if isinstance(answer, Denied):
            return envelope(Fault(answer.status, answer.why, answer.code))
        return _said(answer)


def _mistakes(error: SpecError) -> Fault:
    told = [f"{p.path}: {p.message}" if p.path else p.message for p in error.problems]
    return bad_request("; ".join(told)[:MOST_TOLD])


def _said(answer: Entry, status: int = 200) -> web.Response:
    return web.Response(
        status=status, text=answer.model_dump_json() + "\n", content_type="application/json"
    )


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)
