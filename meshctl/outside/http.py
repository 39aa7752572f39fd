"""Asks HTTP questions, whole or streamed, and never waits longer than it was told to."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.watch import Guard, Watch, guarded_by

LARGEST_ANSWER = 8 * 2**20
"""Bytes read of one answer at most: what comes from outside may be endless."""
_CHUNK = 64 * 1024
_SENDABLE = re.compile(r"([!-~]([ -~]*[!-~])?)?")
_HINT = "check the URL and the network, then ask again"


@dataclass(frozen=True)
class Request:
    """One question; `body` is sent as JSON when it is given."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold a token
    body: Any = None


@dataclass(frozen=True)
class Response:
    """One answer, its header names in lower case; `truncated` when it was longer than we read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    truncated: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a streamed answer, with the seconds since the question was sent."""

    text: str
    at_s: float


@dataclass(frozen=True)
class Stream:
    """A streamed answer: status and headers at once, lines as they come."""

    status: int
    headers: Mapping[str, str]
    lines: Iterator[Line]


class Deadline(Unreachable):
    """The answer did not come, or did not end, within its time."""


class Http(Protocol):
    """Asks a question. Raises Unreachable, and Deadline when the time is over; UsageError for a
    header that cannot be sent. The time covers the whole answer, a streamed one included."""

    def send(self, request: Request, *, timeout_s: float) -> Response: ...

    def stream(
        self, request: Request, *, timeout_s: float
    ) -> contextlib.AbstractContextManager[Stream]: ...


class RealHttp:
    """The network. Loopback is asked directly: a proxy of the environment cannot reach it.

    Looking up a name and connecting are bounded by the same time, but each address of the name
    may use it whole: nothing can interrupt a connection that is still being made.
    """

    def send(self, request: Request, *, timeout_s: float) -> Response:
        began = time.monotonic()
        with _answer(request, timeout_s, self._session) as (answer, chunks):
            body = _at_most(chunks, LARGEST_ANSWER + 1)
            return Response(
                answer.status_code,
                _headers(answer),
                body[:LARGEST_ANSWER],
                time.monotonic() - began,
                truncated=len(body) > LARGEST_ANSWER,
            )

    @contextlib.contextmanager
    def stream(self, request: Request, *, timeout_s: float) -> Iterator[Stream]:
        began = time.monotonic()
        with _answer(request, timeout_s, self._session) as (answer, chunks):
            bounded = _bounded(chunks, request.url)
            yield Stream(answer.status_code, _headers(answer), _lines(bounded, began))

    def _session(self, url: str, watch: Watch) -> contextlib.AbstractContextManager[Any]:
        """What one question is asked through; closed with it."""
        session: contextlib.AbstractContextManager[Any] = new_session(url, watch)
        return session


@contextlib.contextmanager
def _answer(
    request: Request,
    timeout_s: float,
    session_of: Callable[[str, Watch], contextlib.AbstractContextManager[Any]],
) -> Iterator[tuple[Any, Iterator[bytes]]]:
    refuse_unsendable(request)
    with Watch(timeout_s) as watch, session_of(request.url, watch) as session:
        with _in_our_words(request.url, watch):
            answer = session.request(
                request.method,
                request.url,
                # An answer is read as it is sent: unpacking would let 1 MB become 1 GB.
                headers={"Accept-Encoding": "identity", **request.headers},
                json=request.body,
                stream=True,
                timeout=timeout_s,
                allow_redirects=False,
                auth=_as_given,
            )
        with contextlib.closing(answer):
            yield answer, _chunks(answer.raw, request.url, watch)


def new_session(url: str, watch: Guard) -> Any:
    """A session that follows no redirection, whose connections are shown to the watch."""
    import requests

    class StayingHere(requests.Session):
        def get_redirect_target(self, resp: Any) -> None:
            """None: else the whole body is read, and Location parsed, before we see either."""

    session = StayingHere()
    session.trust_env = not is_loopback(url)
    for scheme in ("http://", "https://"):
        session.mount(scheme, guarded_by(watch))
    return session


def _as_given(prepared: Any) -> Any:
    """Sends our headers: without an `auth`, requests lets ~/.netrc replace our Authorization."""
    return prepared


def refuse_unsendable(request: Request) -> None:
    """Before the libraries do: their messages quote the value, and it may be a secret."""
    for name, value in request.headers.items():
        if not _SENDABLE.fullmatch(value):
            raise UsageError(
                f"the value of header {name} holds characters that no header can carry",
                hint="remove line ends, outer spaces and other than plain ASCII characters",
                place=request.url,
            )


@contextlib.contextmanager
def _in_our_words(url: str, watch: Watch) -> Iterator[None]:
    """Turns what the libraries raise into Deadline or Unreachable."""
    import http.client

    import requests
    import urllib3

    try:
        yield
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        http.client.HTTPException,
        OSError,
        OverflowError,  # http.client believes a chunk size of any length
    ) as error:
        if watch.late or isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
            raise _too_late(url, watch.seconds) from error
        raise Unreachable(f"no whole answer: {_reason(error)}", hint=_HINT, place=url) from error


def _too_late(url: str, timeout_s: float) -> Deadline:
    return Deadline(f"no whole answer within {timeout_s:g} s", hint=_HINT, place=url)


def _reason(error: BaseException) -> str:
    """The innermost cause in words, without the nesting of the libraries."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _chunks(raw: Any, url: str, watch: Watch) -> Iterator[bytes]:
    """The body as it arrives; a shut connection looks like an end, so the watch is asked."""
    while True:
        with _in_our_words(url, watch):
            chunk = raw.read1(_CHUNK, decode_content=False)
        if watch.late:
            raise _too_late(url, watch.seconds)
        if not chunk:
            return
        yield chunk


def _at_most(chunks: Iterator[bytes], limit: int) -> bytes:
    """Joined once: a buffer that grows with each chunk cost a fetch half of its time."""
    kept, length = [], 0
    for chunk in chunks:
        kept.append(chunk)
        length += len(chunk)
        if length >= limit:
            break
    return b"".join(kept)[:limit]


def _bounded(chunks: Iterator[bytes], url: str) -> Iterator[bytes]:
    left = LARGEST_ANSWER
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise Unreachable(
                f"the streamed answer is longer than {LARGEST_ANSWER // 2**20} MiB",
                hint=_HINT,
                place=url,
            )
        yield chunk


def _lines(chunks: Iterator[bytes], began: float) -> Iterator[Line]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        at_s = time.monotonic() - began
        for line in whole:
            yield Line(line.rstrip(b"\r").decode("utf-8", "replace"), at_s)
    if rest:
        yield Line(rest.decode("utf-8", "replace"), time.monotonic() - began)


def _headers(answer: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine's loopback."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # any other name, or no URL at all
        return False
