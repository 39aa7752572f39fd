"""Asks a Google API that has no client library here one question, as JSON over our HTTP door."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from meshctl.errors import Unreachable
from meshctl.outside.gcp import (
    NO_JSON,
    Calls,
    Cloud,
    LostAnswer,
    classified,
    credentials,
    translated,
)
from meshctl.outside.http import Deadline, Http, Request, Response

Json = dict[str, Any]
CALL_TIMEOUT_S = 30.0
MOST_PAGES = 20
"""Pages read of one listing: what goes on for ever is cut, and who asks for less gets it all."""


@dataclass(frozen=True)
class Rest:
    """One API of a project; `host` is the real one, the embedded cloud answers at its endpoint."""

    cloud: Cloud
    http: Http
    calls: Calls
    host: str

    def ask(
        self,
        call: str,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Json | None = None,
    ) -> Json:
        """One call, counted as `call`. Raises ApiError when the cloud says no, and Unreachable
        when it does not answer or answers something else than JSON."""
        from urllib.parse import urlencode

        self.calls.add(call)
        asked = f"?{urlencode(query)}" if query else ""
        url = (self.cloud.endpoint or f"https://{self.host}") + path + asked
        place = f"{self.host}{path}"
        request = Request(url, method, headers=self._headers(method, url), body=body)
        return _read(self._sent(request, place), place)

    def _sent(self, request: Request, place: str) -> Response:
        try:
            return self.http.send(request, timeout_s=CALL_TIMEOUT_S)
        except Deadline:  # half a minute was long enough
            raise
        except Unreachable as error:
            raise LostAnswer(error.message, place=place, hint=error.hint) from error

    def _headers(self, method: str, url: str) -> dict[str, str]:
        """Who asks, and for whose quota; nobody in particular in the embedded cloud."""
        if self.cloud.endpoint:
            return {}
        from google.auth.transport.requests import Request as AuthRequest

        headers: dict[str, str] = {}
        with translated(self.cloud, self.host):
            credentials(self.cloud).before_request(AuthRequest(), method, url, headers)
        return headers


def rows(page: Json, key: str) -> list[Json]:
    """The objects of a list in an answer; what is none is left out."""
    items = page.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _read(answer: Response, place: str) -> Json:
    document = _json(answer, place)
    if answer.status == 200:
        return document
    error = document.get("error")
    error = error if isinstance(error, dict) else {}
    status = str(error.get("status") or _BY_CODE.get(answer.status, "UNKNOWN"))
    message = str(error.get("message") or f"HTTP {answer.status}")[:500]
    wait_s = answer.headers.get("retry-after", "")
    raise classified(
        status, message, place, retry_after_s=float(wait_s) if wait_s.isdecimal() else 0.0
    )


_BY_CODE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
            404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 501: "UNIMPLEMENTED",
            503: "UNAVAILABLE"}  # fmt: skip


def _json(answer: Response, place: str) -> Json:
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    if answer.status != 200:
        return {}
    raise LostAnswer(NO_JSON, place=place, hint="try again later")
