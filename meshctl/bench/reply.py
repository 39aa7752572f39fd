"""Reads one captured answer: when its headers, bytes, events and tokens came, and what it says of
itself. Pure.

Four moments are told apart because a mesh that acknowledges and holds sends its headers and a
comment at once: a bench that takes the first byte for the first token would praise it for nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from meshctl.outside.streams import Capture

_SPEAKS = ("content", "reasoning", "reasoning_content")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_TIMING = re.compile(r'\s*([\w-]+)\s*((?:;[^;,"]*(?:"[^"]*")?[^;,"]*)*)')


@dataclass(frozen=True)
class Reply:
    """What one answer showed. Seconds since the question was out; None where it never came.

    `token_s` holds the moment of each piece of text. `ended_s` is when the finish reason came: with
    tokens that have no text, the last piece is not the last token. Counts are the engine's own.
    """

    headers_s: float | None = None
    first_byte_s: float | None = None
    first_event_s: float | None = None
    token_s: tuple[float, ...] = ()
    ended_s: float | None = None
    finish: str = ""
    prompt_tokens: int | None = None
    tokens: int | None = None
    cached_tokens: int | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    server_first_token_s: float | None = None
    error: str = ""

    @property
    def first_token_s(self) -> float | None:
        """When the first text came."""
        return self.token_s[0] if self.token_s else None


def read_reply(capture: Capture) -> Reply:
    """The answer as far as it came; `error` says why it is no whole one."""
    read = _Reading()
    for at_s, data in events(capture):
        read.take(at_s, data)
    bare = "" if capture.status == 200 else _refusal(capture)
    return Reply(
        headers_s=capture.headers_s if capture.status else None,
        first_byte_s=capture.chunks[0].at_s if capture.chunks else None,
        first_event_s=read.first_event_s,
        token_s=tuple(read.token_s),
        ended_s=read.ended_s,
        finish=read.finish,
        prompt_tokens=_count(read.usage.get("prompt_tokens")),
        tokens=_count(read.usage.get("completion_tokens")),
        cached_tokens=_cached(read.usage, read.timings),
        timings={k: float(v) for k, v in read.timings.items() if _number(v)},
        server_first_token_s=server_timing(capture.headers.get("server-timing", "")).get("ttft"),
        error=bare or read.error or ("" if capture.end == "closed" else capture.why),
    )


def events(capture: Capture) -> Iterator[tuple[float, str]]:
    """The data of each event, with when its last byte came; comments are no events.

    A piece may end anywhere, in the middle of a letter, too: bytes are joined before they are read.
    """
    rest = b""
    for chunk in capture.chunks:
        *lines, rest = _LINE_END.split(rest + chunk.data)
        for line in lines:
            if line.startswith(b"data:"):
                yield chunk.at_s, line[5:].decode("utf-8", "replace").strip()


def server_timing(header: str) -> dict[str, float]:
    """The durations of a Server-Timing header in seconds; it writes them in milliseconds."""
    found: dict[str, float] = {}
    for name, params in _TIMING.findall(header):
        for param in params.split(";"):
            key, _, value = param.partition("=")
            if (
                key.strip().lower() == "dur"
                and (ms := _float(value.strip().strip('"'))) is not None
            ):
                found.setdefault(name, ms / 1000)
    return found


class _Reading:
    """What has been read of the events so far."""

    def __init__(self) -> None:
        self.first_event_s: float | None = None
        self.token_s: list[float] = []
        self.ended_s: float | None = None
        self.finish = self.error = ""
        self.usage: dict[str, Any] = {}
        self.timings: dict[str, Any] = {}

    def take(self, at_s: float, data: str) -> None:
        if data == "[DONE]":
            return
        self.first_event_s = at_s if self.first_event_s is None else self.first_event_s
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self.error = self.error or "an event that is no JSON object"
            return
        if event.get("error"):
            self.error = self.error or f"an error in the stream: {str(event['error'])[:200]}"
        self.usage = _mapping(event.get("usage")) or self.usage
        self.timings = _mapping(event.get("timings")) or self.timings
        self._choice(at_s, event.get("choices"))

    def _choice(self, at_s: float, choices: Any) -> None:
        choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
        delta = _mapping(choice.get("delta"))
        if any(delta.get(key) for key in _SPEAKS) or choice.get("text"):
            self.token_s.append(at_s)
        if choice.get("finish_reason"):
            self.finish, self.ended_s = str(choice["finish_reason"])[:40], at_s


def _refusal(capture: Capture) -> str:
    if not capture.status:
        return capture.why or "no answer"
    said = b"".join(chunk.data for chunk in capture.chunks)[:200].decode("utf-8", "replace")
    return f"status {capture.status}: {said}" if said else f"status {capture.status}"


def _cached(usage: dict[str, Any], timings: dict[str, Any]) -> int | None:
    """Tokens of the prompt that were not computed; None where the engine does not say."""
    details = _mapping(usage.get("prompt_tokens_details"))
    said = [_count(details.get("cached_tokens")), _count(timings.get("cache_n"))]
    return max((count for count in said if count is not None), default=None)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
