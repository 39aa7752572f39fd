"""The streams door over real sockets: every piece with its moment, and every way an answer ends."""

from __future__ import annotations

import pytest

from meshctl.bench.reply import read_reply
from meshctl.errors import UsageError
from meshctl.outside.http import Request
from meshctl.outside.streams import Capture, RealStreams
from tests.contract.verify.scripted_server import (
    EVENTS,
    HANG,
    RESET,
    Parts,
    ScriptedServer,
    page,
)

PAUSE_S = 0.3
WORD = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
ROLE = b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
END = b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'

CHUNKED = EVENTS.replace(b"Connection: close", b"Transfer-Encoding: chunked\r\nConnection: close")


def captured(parts: Parts, timeout_s: float = 60.0) -> Capture:
    with ScriptedServer({"POST /v1/x": [parts]}) as server:
        request = Request(f"{server.url}/v1/x", "POST", {"X-Token": "t"}, {"stream": True})
        return RealStreams().capture([request], timeout_s=timeout_s).captures[0]


def test_headers_comment_event_and_token_are_told_apart() -> None:
    capture = captured((EVENTS, PAUSE_S, b": hold\n\n", PAUSE_S, ROLE, PAUSE_S, WORD, END))

    reply = read_reply(capture)
    assert reply.headers_s and reply.first_byte_s and reply.first_event_s and reply.first_token_s
    assert 0 < reply.headers_s <= reply.first_byte_s <= reply.first_event_s <= reply.first_token_s
    assert reply.first_token_s >= 3 * PAUSE_S - 0.01
    assert reply.finish == "length"
    assert reply.error == ""


def test_the_pieces_joined_are_the_bytes_that_were_sent_and_their_moments_only_grow() -> None:
    capture = captured((EVENTS, WORD[:20], 0.05, WORD[20:], 0.05, END))

    assert b"".join(chunk.data for chunk in capture.chunks) == WORD + END
    moments = [chunk.at_s for chunk in capture.chunks]
    assert moments == sorted(moments)
    assert len(read_reply(capture).token_s) == 1


@pytest.mark.parametrize(
    ("parts", "timeout_s", "end", "status"),
    [
        ((EVENTS, WORD, HANG), 5.0, "late", 200),
        ((HANG,), 0.5, "late", 0),
        ((CHUNKED, b"%x\r\n" % (len(WORD) + 1), WORD), 60.0, "cut", 200),
        ((RESET,), 60.0, "silent", 0),
        (page(503, "loading"), 60.0, "closed", 503),
    ],
    ids=["no end", "no word", "cut within a chunk", "refused at once", "a status"],
)
def test_each_way_to_end_badly_has_its_name_and_is_no_exception(
    parts: Parts, timeout_s: float, end: str, status: int
) -> None:
    capture = captured(parts, timeout_s)

    assert (capture.end, capture.status) == (end, status)
    assert read_reply(capture).error


def test_an_answer_without_a_length_that_breaks_off_has_no_finish() -> None:
    """Nothing in it says that it broke off, and so the bench wants a finish reason of every one."""
    capture = captured((EVENTS, WORD))

    assert capture.end == "closed"
    assert read_reply(capture).finish == ""


def test_nobody_there_is_silence() -> None:
    with ScriptedServer({}) as server:
        url = server.url

    batch = RealStreams().capture([Request(url, "POST", {}, {})], timeout_s=60)

    assert batch.captures[0].end == "silent"


def test_questions_sent_at_once_are_answered_at_once() -> None:
    with ScriptedServer({"POST /v1/x": [(EVENTS, PAUSE_S, WORD, END)]}) as server:
        request = Request(f"{server.url}/v1/x", "POST", {}, {})
        batch = RealStreams().capture([request] * 20, timeout_s=60)

    assert [read_reply(capture).finish for capture in batch.captures] == ["length"] * 20
    assert batch.took_s < 20 * PAUSE_S
    assert batch.cpu_s > 0


def test_a_header_that_cannot_be_sent_is_refused_without_its_value() -> None:
    request = Request("http://127.0.0.1:1", "POST", {"X-Token": "secret\r\n"}, {})

    with pytest.raises(UsageError) as raised:
        RealStreams().capture([request], timeout_s=1)

    assert "secret" not in str(raised.value)
