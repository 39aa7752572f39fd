"""Sends questions at once and keeps every piece of their answers with the moment it came.

This door measures and judges nothing: a bench that parses while it listens times its own parser.
asyncio stays behind it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from meshctl.errors import UsageError
from meshctl.outside.http import Request, is_loopback, refuse_unsendable

if TYPE_CHECKING:
    import aiohttp

End = Literal["closed", "late", "cut", "long", "silent"]
"""How an answer ended; `silent` never came to a status line."""
LARGEST_ANSWER = 64 * 2**20
"""Bytes kept of one answer: what comes from outside may be endless."""


@dataclass(frozen=True)
class Chunk:
    """One piece of a body as it was read, with the seconds since its question had been sent."""

    at_s: float
    data: bytes


@dataclass(frozen=True)
class Capture:
    """One answer. Seconds count from when the question's headers were out, on an open connection:
    looking up a name and shaking hands are no part of what an engine does."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_s: float = 0.0
    chunks: tuple[Chunk, ...] = ()
    end: End = "closed"
    why: str = ""


@dataclass(frozen=True)
class Batch:
    """Answers to questions sent at once, and what it took: `took_s` by the clock that only grows,
    `wall_s` by the one that people set, `cpu_s` of this process over the same time."""

    captures: tuple[Capture, ...]
    took_s: float
    wall_s: float
    cpu_s: float


class Streams(Protocol):
    """Asks questions at once and never raises for an answer: silence is one, too. Raises UsageError
    for a header that cannot be sent."""

    def capture(self, requests: Sequence[Request], *, timeout_s: float) -> Batch: ...


class RealStreams:
    """The network; each question has a connection of its own, so none meets one gone stale."""

    def capture(self, requests: Sequence[Request], *, timeout_s: float) -> Batch:
        import asyncio

        for request in requests:
            refuse_unsendable(request)
        wall, began, cpu = time.time(), time.monotonic(), time.process_time()
        captures = asyncio.run(_all(requests, timeout_s))
        return Batch(
            captures=tuple(captures),
            took_s=time.monotonic() - began,
            wall_s=time.time() - wall,
            cpu_s=time.process_time() - cpu,
        )


def load_per_core() -> float:
    """How many processes want to run on this machine for each of its cores, over a minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


async def _all(requests: Sequence[Request], timeout_s: float) -> list[Capture]:
    import asyncio

    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(_note_sent)
    async with aiohttp.ClientSession(
        connector=connector,
        trace_configs=[trace],
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    ) as session:
        return await asyncio.gather(*(_one(session, request) for request in requests))


async def _note_sent(session: Any, context: Any, params: Any) -> None:
    context.trace_request_ctx["sent"] = time.monotonic()


async def _one(session: aiohttp.ClientSession, request: Request) -> Capture:
    """Never raises for what the other side does: a verdict on a run needs every answer."""
    import aiohttp

    sent: dict[str, float] = {"sent": time.monotonic()}
    try:
        async with session.request(
            request.method,
            request.url,
            headers={"Accept-Encoding": "identity", **request.headers},
            json=request.body,
            allow_redirects=False,
            proxy=_proxy(request.url),
            trace_request_ctx=sent,
        ) as answer:
            return await _read(answer, sent["sent"])
    except TimeoutError:
        return Capture(end="late", why="no answer within the time")
    except aiohttp.InvalidURL as error:
        raise UsageError(
            "this is no URL that can be asked", place=request.url, hint="give https://HOST"
        ) from error
    except (aiohttp.ClientError, OSError) as error:
        return Capture(end="silent", why=_reason(error))


async def _read(answer: aiohttp.ClientResponse, sent: float) -> Capture:
    import aiohttp

    headers_s = time.monotonic() - sent
    chunks: list[Chunk] = []
    end: End = "closed"
    why, left = "", LARGEST_ANSWER
    try:
        async for data in answer.content.iter_any():
            chunks.append(Chunk(time.monotonic() - sent, data))
            left -= len(data)
            if left < 0:
                end, why = "long", f"the answer is longer than {LARGEST_ANSWER // 2**20} MiB"
                break
    except TimeoutError:
        end, why = "late", "the answer did not end within the time"
    except (aiohttp.ClientError, OSError) as error:
        end, why = "cut", _reason(error)
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Capture(answer.status, headers, headers_s, tuple(chunks), end, why)


def _proxy(url: str) -> str | None:
    """The proxy of the environment, as the other door has it; loopback is asked directly."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
