"""Sends requests to engines and peers over kept connections, and survives a stale one."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import aiohttp
from aiohappyeyeballs import AddrInfoType

from meshctl.mesh.wire.connection import Answer, Garbled, Stale, Upstream
from meshctl.mesh.wire.pool import Wires

IDLE_S = 4.0
"""vLLM and llama-server both close idle connections after 5 s; the pool lets go before them."""
CONNECT_S = 10.0


_Upstream = TypeVar("_Upstream", bound=Upstream)


@dataclass
class _Trip:
    """One request on its way: whether it went over a connection that was there before."""

    reused: bool = True


_TRIP: ContextVar[_Trip] = ContextVar("trip")
"""Of this task. aiohttp's own way to learn of it, a trace, costs a tenth of a whole request."""


class Redirected(aiohttp.ClientError):
    """The upstream sent us elsewhere. A mesh goes only where it was declared to go: whoever answers
    could name the metadata server, and its answer would reach the client."""


class Upstreams:
    """The engines here by the short way; for peers two pools: one that keeps connections, and one
    that never does, for the second try.

    No timeout but on connecting: a prefill may take minutes, and the caller sets the limit. Proxies
    of the environment are ignored, cookies are not kept, redirects are errors, and bodies pass as
    they are encoded.
    """

    def __init__(self) -> None:
        self._pooled = _session(
            aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S, socket_factory=_new_socket)
        )
        self._fresh = _session(aiohttp.TCPConnector(limit=0, force_close=True))
        self._wires = Wires(IDLE_S, CONNECT_S)

    async def engine(
        self, base: str, path: str, headers: Mapping[str, str], body: bytes, *, fresh: bool
    ) -> Answer:
        """As `once`, for an engine on this machine at `http://127.0.0.1:PORT`."""
        port = int(base.rpartition(":")[2])
        return _stay(await self._wires.post(port, path, headers, body, fresh=fresh))

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, silence_s: float | None = None
    ) -> aiohttp.ClientResponse:
        """The answer, its body unread; the caller closes it. Raises aiohttp.ClientError, of which
        Redirected is one, and SocketTimeoutError, when nothing comes for `silence_s`.

        Tried again, once and on a new connection, only when a kept connection turned out dead
        before a single byte came back: the request then never reached anybody.
        """
        try:
            return await self.once(url, headers, body, fresh=False, silence_s=silence_s)
        except Stale:
            return await self.once(url, headers, body, fresh=True, silence_s=silence_s)

    async def once(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        fresh: bool,
        silence_s: float | None = None,
    ) -> aiohttp.ClientResponse:
        """As `post`, but handed over once. Raises Stale where a kept connection ended without a
        byte; with `fresh` none of them is used."""
        trip = _Trip(reused=not fresh)
        _TRIP.set(trip)
        try:
            session = self._fresh if fresh else self._pooled
            return await _post(session, url, headers, body, silence_s)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not trip.reused or isinstance(error, aiohttp.ClientConnectorError):
                raise
            raise Stale from None

    async def get_text(self, url: str, headers: Mapping[str, str], timeout_s: float) -> str:
        """The body of a small GET that must succeed. Raises aiohttp.ClientError or TimeoutError."""
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        async with self._fresh.get(
            url, headers=headers, timeout=timeout, allow_redirects=False
        ) as answer:
            _stay(answer)
            answer.raise_for_status()
            return await answer.text()

    async def get_status(self, url: str, timeout_s: float) -> int:
        """The status of a GET on a new connection, its body unread: it may be endless. Raises
        aiohttp.ClientError or TimeoutError."""
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        async with self._fresh.get(url, timeout=timeout, allow_redirects=False) as answer:
            return _stay(answer).status

    async def close(self) -> None:
        """Closes every connection."""
        self._wires.close()
        await self._pooled.close()
        await self._fresh.close()


async def _post(
    session: aiohttp.ClientSession,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    silence_s: float | None,
) -> aiohttp.ClientResponse:
    timeout = _timeout(silence_s)
    try:
        return _stay(
            await session.post(
                url, headers=headers, data=body, allow_redirects=False, timeout=timeout
            )
        )
    except aiohttp.ClientResponseError:  # its message holds what came, which may be anything
        raise Garbled("it speaks no HTTP") from None


def _stay(answer: _Upstream) -> _Upstream:
    """The answer, unless it is of the 3xx kind: then it is closed, and Redirected is raised; or
    Garbled, for a status that no answer has."""
    if not 200 <= answer.status < 600:
        answer.close()
        raise Garbled(f"the status {answer.status} is none of an answer")
    if 300 <= answer.status < 400:
        answer.close()
        raise Redirected(f"it answered {answer.status}, and a mesh follows no redirects")
    return answer


def _timeout(silence_s: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=silence_s)


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        timeout=_timeout(None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


def _new_socket(address: AddrInfoType) -> socket.socket:
    """The socket of a new connection, which the task that asked for it hears of."""
    _TRIP.get().reused = False
    family, kind, protocol, *_ = address
    return socket.socket(family, kind, protocol)
