"""Answers that the mesh itself gives: faults as envelopes, the server's own refusals included."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Middleware

from meshctl.mesh import headers as head
from meshctl.mesh.faults import Fault, bad_request
from meshctl.mesh.keys import OPEN, Keys
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics

ID = web.RequestKey("id", str)
"""The name of a request in every log: the client's own, or one of ours."""


class Envelope(web.Response):
    """An answer that the mesh itself gave, whoever it is about."""


def envelope(fault: Fault, headers: Mapping[str, str] | None = None) -> Envelope:
    """A fault as an answer; some say when to ask again."""
    retry = {"Retry-After": str(fault.retry_after_s)} if fault.retry_after_s else {}
    return Envelope(
        status=fault.status,
        body=fault.body(),
        content_type="application/json",
        headers=retry | dict(headers or {}),
    )


def guard(body_bytes: int, log: Log) -> Middleware:
    """Names each request, and turns what its handler raises into an envelope: a refusal of the
    server, or a bug of ours."""

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        request[ID] = head.request_id(request.headers, secrets.token_hex(16))
        if (request.content_length or 0) > body_bytes:
            return envelope(_too_large(body_bytes))  # known before any of it is read
        try:
            return await handler(request)
        except web.HTTPException as refused:
            return _refusal(request, refused, body_bytes)
        except web.RequestPayloadError:
            return envelope(bad_request("the body could not be read"))
        except (ConnectionError, aiohttp.ClientConnectionError):
            raise  # the client went away while we wrote to it
        except Exception as bug:
            log.say("error", f"{_asked(request)}: {bug!r}", request=request[ID])
            return envelope(Fault(500, "the mesh failed; its log says how", "internal_error"))

    return guarded


def locked(keys: Keys, metrics: Metrics, log: Log) -> Middleware:
    """Lets pass only who shows a key, before anything of the request is read but its head."""

    @web.middleware
    async def checked(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        fault = None if request.path in OPEN else keys.refuse(request.headers)
        if fault is None:
            return await handler(request)
        metrics.unauthorized.add(1)
        log.say("debug", f"{_asked(request)}: no known key", request=request[ID])
        return envelope(fault, {"WWW-Authenticate": "Bearer"})

    return checked


def _asked(request: web.Request) -> str:
    """As it was sent, escapes and all: a line feed in a path must not begin a line of the log."""
    return f"{request.method} {request.rel_url.raw_path}"


def _refusal(request: web.Request, refused: web.HTTPException, body_bytes: int) -> Envelope:
    if isinstance(refused, web.HTTPRequestEntityTooLarge):
        return envelope(_too_large(body_bytes))
    if isinstance(refused, web.HTTPMethodNotAllowed):
        fault = Fault(405, f"{request.path} does not take {request.method}", "method_not_allowed")
        return envelope(fault, {"Allow": refused.headers.get("Allow", "")})
    if refused.status == 404:
        return envelope(Fault(404, f"there is nothing at {request.path}", "not_found"))
    return envelope(Fault(refused.status, refused.reason, "refused"))


def _too_large(body_bytes: int) -> Fault:
    return Fault(413, f"the body is larger than {body_bytes} bytes", "too_large")
