"""Shows the key of a mesh to every release that is asked whether it is well."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import replace

from meshctl.errors import UsageError
from meshctl.outside.http import Http, Request, Response, Stream
from meshctl.secret import Secret

VARIABLE = "MESHCTL_API_KEY"
HEADER = "X-Api-Key"
"""Not Authorization: Cloud Run reads the identity token there."""


class KeyedHttp:
    """Asks as another door does, and adds the key."""

    def __init__(self, http: Http, key: Secret) -> None:
        self._http = http
        self._key = key

    def send(self, request: Request, *, timeout_s: float) -> Response:
        """As Http.send."""
        return self._http.send(self._shown(request), timeout_s=timeout_s)

    def stream(
        self, request: Request, *, timeout_s: float
    ) -> contextlib.AbstractContextManager[Stream]:
        """As Http.stream."""
        return self._http.stream(self._shown(request), timeout_s=timeout_s)

    def _shown(self, request: Request) -> Request:
        return replace(request, headers={**request.headers, HEADER: self._key.reveal()})


def keyed(http: Http, environ: Mapping[str, str]) -> Http:
    """The same door, with the key of the environment where there is one. Raises UsageError."""
    key = environ.get(VARIABLE)
    if not key:
        return http
    if not re.fullmatch("[!-~]+", key):
        raise UsageError(
            f"{VARIABLE} holds characters that no header can carry",
            hint="set it to one of the keys in MESH_API_KEYS of the service",
            place=VARIABLE,
        )
    return KeyedHttp(http, Secret(key))
