"""Cuts an upstream's bytes into whole events and says what they mean for who waits. Pure.

Only whole events are passed on: what a cut stream leaves behind is never shown. What clients break
on is taken out: `id:` and `retry:` lines, events without data, and comments, for the mesh makes its
own. Line ends become line feeds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

LONGEST_EVENT = 16 * 2**20
"""Bytes of one event; longer ones count as a cut stream. A whole picture in base64 fits."""

End = Literal["", "done", "error"]
Rewrite = Callable[[dict[str, Any]], dict[str, Any]]
"""What a stream's chunks are changed into before the client sees them."""

_PLAIN = re.compile(rb"(?:data: [^\n]+\n\n)+")
_POSITION = re.compile(rb": ?(?:accepted; )?queued position (\d{1,6})")
_LAST = frozenset(f"response.{how}" for how in ("completed", "incomplete", "failed", "cancelled"))
"""A stream of /v1/responses has no [DONE]; one of these comes last."""
_DONE, _ERROR, _RESPONSE = b"[DONE]", b'"error"', b'"response.'
"""What may mean more than a word, sought one by one: a pattern of all three takes twice as long."""
_SAYS = ("content", "reasoning", "reasoning_content", "tool_calls", "function_call", "refusal")


class Oversized(Exception):
    """An event that does not end."""


class Passed(NamedTuple):
    """Whole events for the client, and what they were.

    `speaks`: the model's first word is among them. `ahead`: a peer says how many requests are
    before this one. `end`: the stream is over, and how; nothing after that is passed on.
    """

    data: bytes = b""
    speaks: bool = False
    ahead: int | None = None
    end: End = ""


class Frames:
    """The framing of one stream: `feed` it what comes, `finish` it at the upstream's end."""

    def __init__(self, rewrite: Rewrite | None = None) -> None:
        self._rest = b""
        self._rewrite = rewrite
        self._spoke = False
        self._whole = False
        self._end: End = ""

    def feed(self, data: bytes) -> Passed:
        """Takes bytes in. Raises Oversized for an event longer than LONGEST_EVENT."""
        if self._end:
            return Passed()
        whole, blank, self._rest = self._line_feeds(data).rpartition(b"\n\n")
        if not blank:
            if len(self._rest) > LONGEST_EVENT:
                raise Oversized
            return Passed()
        return self._pass(whole + blank)

    def finish(self) -> Passed:
        """The upstream ended: a last event counts although its blank line is missing."""
        if self._end:
            return Passed()
        if self._whole:
            return Passed(end="done")
        # Half an event may look like a whole one; only those that end a stream are known to be.
        last = self._take(self._rest.replace(b"\r", b"\n"))
        return last if last.end else Passed()

    def _line_feeds(self, data: bytes) -> bytes:
        """Everything not yet passed, with line feeds; a carriage return at the end may be half."""
        text = self._rest + data if self._rest else data
        if b"\r" not in text:
            return text
        half = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(half) if half else text
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + half

    def _pass(self, events: bytes) -> Passed:
        """As they are, once the model speaks and nothing in them is special: that is nearly all."""
        special = _DONE in events or _ERROR in events or _RESPONSE in events or self._rewrite
        if self._spoke and not special and _PLAIN.fullmatch(events):
            return Passed(events)
        return self._take(events)

    def _take(self, events: bytes) -> Passed:
        """One by one, to the first that ends the stream."""
        out, ahead, before = [], None, self._spoke
        for event in events.split(b"\n\n"):
            lines = event.split(b"\n")
            ahead = next((n for n in map(_position, lines) if n is not None), ahead)
            if data := _data(lines):
                out.append(self._event(_kind(lines), data))
            if self._end:
                break
        return Passed(b"".join(out), self._spoke and not before, ahead, self._end)

    def _event(self, kind: bytes, data: bytes) -> bytes:
        """One event as the client gets it; what it means is noted."""
        if data.strip() == b"[DONE]":
            self._end = "done"
            return b"data: [DONE]\n\n"
        value = _object(data)
        if value is None:
            return kind + b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"
        if value.get("error") or value.get("type") == "error":
            self._end = "error"
        self._whole = self._whole or value.get("type") in _LAST
        self._spoke = self._spoke or speaks(value)
        if self._rewrite or b"\n" in data:
            value = self._rewrite(value) if self._rewrite else value
            data = json.dumps(value, separators=(",", ":")).encode()
        return kind + b"data: " + data + b"\n\n"


def speaks(event: dict[str, Any]) -> bool:
    """Whether the model says anything in it: content, reasoning or a tool call.

    An event of an unknown form counts: nobody may wait behind what cannot be read.
    """
    choices = event.get("choices")
    if isinstance(choices, list):
        return any(_says(choice) for choice in choices if isinstance(choice, dict))
    kind = event.get("type")  # the events of /v1/responses
    return kind.endswith(".delta") if isinstance(kind, str) else True


def _says(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    said = delta if isinstance(delta, dict) else {}
    return bool(choice.get("text")) or any(said.get(name) for name in _SAYS)


def _data(lines: list[bytes]) -> bytes:
    """The data of an event, its lines joined; empty where there is none."""
    found = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    return b"\n".join(found).strip(b"\n")


def _kind(lines: list[bytes]) -> bytes:
    """The `event:` line, which /v1/responses needs; none for most."""
    return next((line + b"\n" for line in lines if line.startswith(b"event:")), b"")


def _position(line: bytes) -> int | None:
    found = _POSITION.fullmatch(line)
    return int(found[1]) if found else None


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
