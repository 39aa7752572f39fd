"""Passes an upstream's answer to the client event by event, and never ends a cut one cleanly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress

import aiohttp
from aiohttp import web

from meshctl.mesh.faults import Failed, Fault, cut_off, silent, too_big
from meshctl.mesh.framing import End, Frames, Oversized, Passed
from meshctl.mesh.headers import about
from meshctl.mesh.hold import Hold
from meshctl.mesh.silence import Ear, listening
from meshctl.mesh.wire.connection import Begun, Upstream

LINGER_S = 0.2
"""For the end of an answer after its last event: then its connection can be used again."""
LONGEST_WHOLE = 64 * 2**20
"""Bytes of an answer that is no stream and so is held whole: of four requests at once, what the
smallest instances can spare. Four of the largest pictures in base64 fit."""


async def relay(
    hold: Hold,
    upstream: Upstream,
    first: bytes,
    headers: Mapping[str, str],
    who: str,
) -> web.StreamResponse:
    """The answer that begins with these bytes. Raises Failed for a whole one that broke, and Left.

    An answer that is no stream is read before any of it is passed on.
    """
    with listening(upstream, hold.silence_s) as ear:
        if upstream.content_type == "text/event-stream" and upstream.status == 200:
            return await _stream(hold, upstream, ear, first, headers, who)
        body, fault = await _read_whole(ear, first, hold.silence_s, who)
    if not fault and not _proved(upstream, body):
        fault = cut_off(who)
    if fault:
        raise Failed(fault, about(headers))
    return await hold.whole(upstream.status, body, headers, who)


async def first_bytes(upstream: Upstream) -> bytes:
    """The first bytes of the body; empty when it has none.

    Raises aiohttp.ClientError when the upstream ended before them: nobody has been told anything,
    and the request may be asked elsewhere; but Begun, which is one, when some had come.
    """
    try:
        data = await upstream.content.readany()
    except aiohttp.ClientPayloadError as error:
        # aiohttp forgets what came when the rest is wrong; that it came it still knows.
        if isinstance(upstream, aiohttp.ClientResponse) and upstream.content.total_bytes:
            raise Begun(str(error)) from None
        raise
    if not data and upstream.content_type == "text/event-stream":
        raise aiohttp.ServerDisconnectedError("the stream ended before it began")
    return data


async def _read_whole(
    ear: Ear, first: bytes, silence_s: float, who: str
) -> tuple[bytes, Fault | None]:
    """All of the body; or why it cannot be had."""
    pieces, size = [first], len(first)
    try:
        while piece := await ear.readany():
            pieces.append(piece)
            size += len(piece)
            if size > LONGEST_WHOLE:
                return b"", too_big(who, LONGEST_WHOLE)
    except aiohttp.ClientError:
        return b"", silent(who, silence_s) if ear.silent else cut_off(who)
    return b"".join(pieces), None


def _proved(upstream: Upstream, body: bytes) -> bool:
    """Whether the body is known to be whole: by its framing; or, where its end is only that of its
    connection, because it is JSON to the end. Half a refusal is a refusal all the same."""
    chunked = "chunked" in upstream.headers.get("transfer-encoding", "").lower()
    framed = chunked or "content-length" in upstream.headers
    if framed or upstream.status == 204 or upstream.status >= 400:
        return True
    try:
        return isinstance(json.loads(body), dict | list)
    except (ValueError, RecursionError):
        return False


async def _stream(
    hold: Hold,
    upstream: Upstream,
    ear: Ear,
    first: bytes,
    headers: Mapping[str, str],
    who: str,
) -> web.StreamResponse:
    frames = hold.frames()
    passed = frames.feed(first)
    await hold.begin(headers, passed.ahead)
    end = await _events(hold, ear, frames, passed)
    if end == "done":
        answer = await hold.end()
        await _to_the_end(upstream)
        return answer
    fault = silent(who, hold.silence_s) if ear.silent else cut_off(who)
    return await (hold.broken() if end == "error" else hold.fail(fault, about(headers)))


async def _events(hold: Hold, ear: Ear, frames: Frames, passed: Passed) -> End:
    """Passes events on until one ends the stream, or the upstream does; says which."""
    await hold.pass_on(passed)
    try:
        with suppress(aiohttp.ClientError):  # however it ended: only [DONE] proves it
            while not passed.end and (data := await ear.readany()):
                passed = frames.feed(data)
                await hold.pass_on(passed)
    except Oversized:
        return ""
    if not passed.end:
        passed = frames.finish()
        await hold.pass_on(passed)
    return passed.end


async def _to_the_end(upstream: Upstream) -> None:
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(LINGER_S):
            while await upstream.content.readany():
                pass
