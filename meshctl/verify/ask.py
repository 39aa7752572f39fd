"""Asks one question and always comes back with an answer, be it silence."""

from __future__ import annotations

from meshctl.errors import Unreachable
from meshctl.outside.http import Deadline, Http, Line, Stream
from meshctl.verify.check import Answer, End, Question, Silence, Transcript

LONGEST_STREAM = 2**20
"""Characters read of one stream at most: eight tokens need some thousands."""


def ask(question: Question, http: Http, *, timeout_s: float) -> Answer:
    """What came back within the time. Silence instead of Unreachable: a verdict needs an answer."""
    try:
        if not question.streamed:
            return http.send(question.request, timeout_s=timeout_s)
        with http.stream(question.request, timeout_s=timeout_s) as stream:
            return _read(stream)
    except Unreachable as error:
        return Silence(error.message, late=isinstance(error, Deadline))


def _read(stream: Stream) -> Transcript:
    lines: list[Line] = []
    left = LONGEST_STREAM
    try:
        for line in stream.lines:
            lines.append(line)
            left -= len(line.text) + 1
            if left < 0:
                return Transcript(stream.status, tuple(lines), "long", "", stream.headers)
    except Unreachable as error:
        end: End = "late" if isinstance(error, Deadline) else "cut"
        return Transcript(stream.status, tuple(lines), end, error.message, stream.headers)
    return Transcript(stream.status, tuple(lines), "closed", "", stream.headers)
