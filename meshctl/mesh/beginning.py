"""Reads what a peer says before its answer, up to the first event: comments are no answer yet."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import aiohttp

from meshctl.mesh.faults import TYPES
from meshctl.mesh.framing import LONGEST_EVENT, Frames, Oversized, Passed
from meshctl.mesh.wire.connection import Upstream

_STATUSES = {type: status for status, type in TYPES.items() if type != TYPES[400]}
"""What an error event of a mesh would have been, had its stream not begun: 400 and 413 share one
name, and both are the client's."""

Heard = Callable[[int], Awaitable[None]]
"""Is told how many requests are before this one at the peer."""


async def read_beginning(upstream: Upstream, first: bytes, heard: Heard) -> tuple[bytes, int]:
    """All bytes up to the first event, and the status that this event stands for: 200 but for an
    error. An answer that is no stream begins with its first byte.

    Raises aiohttp.ClientError where the stream ends before it, or says what is no event.
    """
    if upstream.status != 200 or upstream.content_type != "text/event-stream":
        return first, upstream.status
    frames, data = Frames(), first
    passed = _feed(frames, first)
    while not passed.data and not passed.end:
        if passed.ahead is not None:
            await heard(passed.ahead)
        more = await upstream.content.readany()
        data += more
        passed = _feed(frames, more) if more else frames.finish()
        if len(data) > LONGEST_EVENT or not (more or passed.end):
            raise aiohttp.ClientPayloadError("its stream ended before the first event")
    return data, status_of(passed.data) if passed.end == "error" else 200


def status_of(events: bytes) -> int:
    """The status that the error at the end of these events would have had: 502 where it does not
    say what kind it is of, 500 for an unknown kind."""
    error = json.loads(events.rstrip().rpartition(b"\n")[2].removeprefix(b"data: ")).get("error")
    code, kind = (error.get("code"), error.get("type")) if isinstance(error, dict) else (None, None)
    if isinstance(code, int) and 400 <= code < 600:  # as engines say it
        return code
    if not isinstance(kind, str):
        return 502
    return 400 if kind == TYPES[400] else _STATUSES.get(kind, 500)


def _feed(frames: Frames, data: bytes) -> Passed:
    try:
        return frames.feed(data)
    except Oversized:
        raise aiohttp.ClientPayloadError("its first event does not end") from None
