"""Answers at the door of outside/http.py from a script, and remembers what was asked.

    http = FakeHttp({
        "GET /v1/models": [answer(200, {"data": []})],
        "STREAM /v1/chat/completions": [streamed("data: [DONE]"), Deadline("too slow")],
    })

The last answer of a list is given again for ever; an error in place of an answer is raised.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from meshctl.errors import Unreachable
from meshctl.outside.http import Line, Request, Response, Stream


@dataclass(frozen=True)
class Streamed:
    """Status, lines one `step_s` apart, and the error the reading ends with, if any."""

    status: int
    lines: tuple[str, ...]
    headers: Mapping[str, str]
    step_s: float
    then: Unreachable | None


Scripted = Response | Streamed | Unreachable


def answer(status: int, body: Any = "", *, seconds: float = 0.1, **headers: str) -> Response:
    """A whole answer; anything but text or bytes is sent as JSON, `x_y` names header `x-y`."""
    raw = body if isinstance(body, bytes) else _text(body).encode("utf-8", "surrogatepass")
    return Response(status, _named(headers), raw, seconds)


def streamed(
    *lines: str,
    status: int = 200,
    step_s: float = 0.1,
    then: Unreachable | None = None,
    **headers: str,
) -> Streamed:
    return Streamed(status, lines, _named(headers), step_s, then)


class FakeHttp:
    """`asked` holds every request, `timeouts_s` the time each was given."""

    def __init__(self, script: Mapping[str, Sequence[Scripted]]) -> None:
        self._script = {question: list(answers) for question, answers in script.items()}
        self.asked: list[Request] = []
        self.timeouts_s: list[float] = []

    def send(self, request: Request, *, timeout_s: float) -> Response:
        given = self._next(request.method, request, timeout_s)
        assert isinstance(given, Response), f"{request.url} is scripted as a stream"
        return given

    @contextlib.contextmanager
    def stream(self, request: Request, *, timeout_s: float) -> Iterator[Stream]:
        given = self._next("STREAM", request, timeout_s)
        assert isinstance(given, Streamed), f"{request.url} is scripted as a whole answer"
        yield Stream(given.status, given.headers, _lines(given))

    def count(self, path: str) -> int:
        """How many times a path was asked."""
        return sum(urlsplit(request.url).path == path for request in self.asked)

    def _next(self, how: str, request: Request, timeout_s: float) -> Response | Streamed:
        self.asked.append(request)
        self.timeouts_s.append(timeout_s)
        answers = self._script[f"{how} {urlsplit(request.url).path}"]
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(given, Unreachable):
            raise given
        return given


def _lines(given: Streamed) -> Iterator[Line]:
    for number, text in enumerate(given.lines, 1):
        yield Line(text, number * given.step_s)
    if given.then:
        raise given.then


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
