"""Answers from other meshes: one peer after the other, until one begins to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import aiohttp
from aiohttp import web

from meshctl.mesh import headers as head
from meshctl.mesh.beginning import Heard, read_beginning
from meshctl.mesh.faults import Failed, Fault, peer_slow, upstream_failed
from meshctl.mesh.hold import Hold
from meshctl.mesh.identity import Identity
from meshctl.mesh.local import Sending
from meshctl.mesh.peers import Peers
from meshctl.mesh.relay import first_bytes, relay
from meshctl.mesh.upstreams import Upstreams
from meshctl.spec.federation import PeerEntry

AILING = frozenset((429, 502, 503, 504))
"""What a peer, or the front before it, says when it cannot answer now and another one could."""
UNPROVED = frozenset((401, 403))
"""A peer does not let this mesh in. That is between the two of them: no credential of the client
went there, and to be told that its own is wrong would mislead it."""
ABSENT = frozenset((404, 508))
"""A peer that takes any model may not have this one, or only by one hop more; whoever else takes it
is asked then."""


class Nobody(Exception):
    """No peer began to answer, and the request may be answered here."""


class Remote:
    """The peers of one mesh, asked one request at a time."""

    def __init__(
        self, peers: Peers, identity: Identity, upstreams: Upstreams, longest_s: float
    ) -> None:
        self._peers = peers
        self._identity = identity
        self._upstreams = upstreams
        self._longest_s = longest_s

    async def answer(
        self, hold: Hold, order: Sequence[PeerEntry], sending: Sending, *, spare: bool
    ) -> web.StreamResponse:
        """The answer of the first peer that begins one. Raises Failed and Left.

        `spare`: an engine here could answer, too. Then Nobody is raised where no peer does.
        """
        hold.headers, hold.theirs = {head.MODEL: sending.model}, True
        failed = None
        for number, peer in enumerate(order, 1):
            try:
                last = number == len(order) and not spare
                return await self._ask(hold, peer, sending, last=last)
            except _Passed as passed:
                failed = failed or Failed(passed.fault, _named(peer, sending))
        if spare or failed is None:
            raise Nobody
        raise failed

    async def _ask(
        self, hold: Hold, peer: PeerEntry, sending: Sending, *, last: bool
    ) -> web.StreamResponse:
        """Raises _Passed when another one should be asked."""
        with self._peers.asking(peer):
            upstream, first = await self._reach(peer, sending)
            async with upstream:
                headers = {head.MODEL: sending.model}
                headers |= head.returned(upstream.headers, from_mesh=True) | {head.PEER: peer.id}
                with self._failing(peer):
                    heard = _tell(hold, headers if last else None)
                    first, status = await read_beginning(upstream, first, heard)
                self._judge(peer, status)
                if why := _unfit(status, last=last):
                    raise _Passed(upstream_failed(f"peer {peer.id}", why))
                return await self._relay(hold, peer, upstream, first, headers, status)

    async def _relay(
        self,
        hold: Hold,
        peer: PeerEntry,
        upstream: aiohttp.ClientResponse,
        first: bytes,
        headers: Mapping[str, str],
        status: int,
    ) -> web.StreamResponse:
        """The rest of its answer; a peer that breaks off has failed, however well it began."""
        try:
            answer = await relay(hold, upstream, first, headers, f"peer {peer.id}")
        except Failed:
            self._peers.failed(peer, _now())
            raise
        if status == 200 and hold.outcome == "failed":
            self._peers.failed(peer, _now())
        elif status not in AILING | UNPROVED:
            self._peers.answered(peer)
        return answer

    async def _reach(
        self, peer: PeerEntry, sending: Sending
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """The peer's answer and its first bytes, a cold start included. Raises _Passed."""
        with self._failing(peer):
            async with asyncio.timeout(self._longest_s):
                return await self._begin(peer, sending)
        raise AssertionError("an error was swallowed")

    @contextmanager
    def _failing(self, peer: PeerEntry) -> Iterator[None]:
        """Who gives no answer has failed, and the next one is asked: makes _Passed of the error."""
        try:
            yield
        except (aiohttp.ClientError, TimeoutError) as error:
            self._peers.failed(peer, _now())
            if _is_silence(error):
                raise _Passed(peer_slow(peer.id, self._longest_s)) from None
            why = str(error) or type(error).__name__
            raise _Passed(upstream_failed(f"peer {peer.id}", why)) from None

    async def _begin(
        self, peer: PeerEntry, sending: Sending
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        proof = await self._identity.header(peer.base_url)
        headers = {**sending.headers, head.HOP: "1", **proof}
        upstream = await self._upstreams.post(
            peer.base_url + sending.path, headers, sending.body, silence_s=self._longest_s
        )
        try:
            return upstream, await first_bytes(upstream)
        except BaseException:
            upstream.close()
            raise

    def _judge(self, peer: PeerEntry, status: int) -> None:
        if status in AILING | UNPROVED:
            self._peers.failed(peer, _now())
        else:
            self._peers.began(peer)


class _Passed(Exception):
    """This peer does not answer; the next one may."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _unfit(status: int, *, last: bool) -> str:
    """Why the answer is not passed on, and the next one asked; "" for one that is."""
    if status in UNPROVED:
        return f"it did not let this mesh in ({status})"
    if status in AILING and not last:
        return f"it said {status}"
    return "it has no such model" if status in ABSENT and not last else ""


def _tell(hold: Hold, headers: Mapping[str, str] | None) -> Heard:
    """Tells the client where it stands at the peer; with headers, that it is this peer's client,
    for nobody else is left who could answer."""

    async def heard(ahead: int) -> None:
        if headers:
            await hold.begin(headers, ahead)
        hold.told(ahead)

    return heard


def _is_silence(error: Exception) -> bool:
    """Nothing came for too long; a connection that was never made is something else."""
    silence = isinstance(error, aiohttp.SocketTimeoutError)
    return silence or (
        isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError)
    )


def _named(peer: PeerEntry, sending: Sending) -> dict[str, str]:
    return {head.MODEL: sending.model, head.PEER: peer.id}


def _now() -> float:
    return asyncio.get_running_loop().time()
