"""One request on its way through: lease an instance, forward, stream back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import (
    ClientConnectionError,
    ClientConnectorError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    web,
)
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from meshctl.emulator.serve.instance import Instance
from meshctl.emulator.serve.launch import CannotStart
from meshctl.emulator.serve.pool import Pool

# RFC 9110 7.6.1: these belong to one connection and are never passed on.
HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
}
_ATTEMPTS = 3


class Passed(web.StreamResponse):
    """A response passed through: aiohttp's own Date, Server and Content-Type are taken out."""

    def __init__(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        super().__init__(status=status, reason=reason, headers=headers)
        self._given = {name.lower() for name in headers}

    async def _prepare_headers(self) -> None:
        # There is no public way to leave these out; the front must not add what was not there.
        await super()._prepare_headers()
        for name in ("Date", "Server", "Content-Type"):
            if name.lower() not in self._given:
                self.headers.popall(name, None)


def upstream_session() -> ClientSession:
    """The session of all fronts. No pooled connections, so none can be dead; no proxies."""
    return ClientSession(
        connector=TCPConnector(limit=0, force_close=True),
        cookie_jar=DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        timeout=ClientTimeout(total=None, sock_connect=10),
        read_bufsize=1 << 16,
    )


class Exchange:
    """One request on its way through: lease, forward, stream back."""

    def __init__(self, request: web.BaseRequest, pool: Pool, session: ClientSession) -> None:
        self._request, self._pool, self._session = request, pool, session
        self._answer: Passed | None = None
        self._body_read = False

    def fail(self, status: int, text: str) -> web.StreamResponse:
        """An error answer, or a cut connection when the answer has begun already."""
        if self._answer is None:
            return web.Response(status=status, text=text)
        if self._request.transport is not None:
            self._request.transport.abort()
        return self._answer

    async def run(self) -> web.StreamResponse:
        """Try instances until one takes the connection; nothing was sent before that."""
        for attempt in range(_ATTEMPTS):
            instance = await self._pool.lease()
            try:
                return await self._forward(instance)
            except ClientConnectionError as err:
                if attempt == _ATTEMPTS - 1 or not self._may_ask_again(err):
                    raise
                await asyncio.sleep(0.02)
            finally:
                self._pool.give(instance)
        raise CannotStart("no instance accepted the connection")

    def _may_ask_again(self, err: ClientConnectionError) -> bool:
        """Not connected: nobody saw the request. Connected and cut: only where it is harmless."""
        if self._answer is not None or self._body_read:
            return False
        return isinstance(err, ClientConnectorError) or self._request.method in ("GET", "HEAD")

    async def _forward(self, instance: Instance) -> web.StreamResponse:
        request = self._request
        url = URL(f"http://127.0.0.1:{instance.port}{request.raw_path}", encoded=True)
        async with self._session.request(
            request.method,
            url,
            headers=_end_to_end(request.headers),
            data=self._body(),
            allow_redirects=False,
        ) as upstream:
            headers = _end_to_end(upstream.headers)
            answer = self._answer = Passed(upstream.status, upstream.reason, headers)
            bodiless = request.method == "HEAD" or upstream.status in (204, 304)
            if "Content-Length" not in headers and not bodiless and request.version >= (1, 1):
                answer.enable_chunked_encoding()
            await answer.prepare(request)
            async for chunk in upstream.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer

    def _body(self) -> AsyncIterator[bytes] | None:
        return self._stream() if self._request.can_read_body else None

    async def _stream(self) -> AsyncIterator[bytes]:
        self._body_read = True
        expects = self._request.headers.get("Expect", "").lower() == "100-continue"
        if expects and self._request.transport is not None:
            self._request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async for chunk in self._request.content.iter_any():
            yield chunk


def _end_to_end(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers without those of the connection and those it names."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in HOP_BY_HOP and name.lower() not in named
    )
