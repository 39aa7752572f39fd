"""Whole events go through, what clients break on does not, and only two of them end a stream."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.mesh.fillers import Chunks
from meshctl.mesh.framing import LONGEST_EVENT, Frames, Oversized, Passed, speaks


def event(**delta: object) -> bytes:
    return b"data: " + json.dumps({"id": "a", "choices": [{"delta": delta}]}).encode() + b"\n\n"


ROLE = event(role="assistant", content="")
HELLO = event(content="Hello")
DONE = b"data: [DONE]\n\n"


def passed(*pieces: bytes, frames: Frames | None = None) -> list[Passed]:
    frames = frames or Frames()
    return [*(frames.feed(piece) for piece in pieces), frames.finish()]


def text(*pieces: bytes) -> bytes:
    return b"".join(part.data for part in passed(*pieces))


def test_a_plain_stream_passes_as_it_came() -> None:
    parts = passed(ROLE, HELLO, HELLO, DONE)

    assert [part.data for part in parts] == [ROLE, HELLO, HELLO, DONE, b""]
    assert [part.speaks for part in parts] == [False, True, False, False, False]
    assert [part.end for part in parts] == ["", "", "", "done", ""]


def test_half_an_event_is_never_shown() -> None:
    parts = passed(HELLO + HELLO[:20])

    assert parts[0].data == HELLO
    assert parts[1] == Passed()


def test_a_last_event_counts_without_its_blank_line() -> None:
    assert passed(HELLO, b"data: [DONE]")[-1] == Passed(DONE, end="done")
    assert passed(HELLO, b"data: [DONE]\r\n")[-1] == Passed(DONE, end="done")


def test_nothing_comes_after_the_end() -> None:
    assert text(HELLO + DONE + HELLO, HELLO) == HELLO + DONE


@pytest.mark.parametrize(
    "bad",
    [b"id: 7\n\n", b"retry: 10\n\n", b"data:\n\n", b"data: \n\n", b": ping\n\n", b":\n\n", b"\n\n",
     b"event: ping\n\n", b"unknown: x\n\n", b"id\n\n"],
)  # fmt: skip
def test_what_clients_break_on_is_taken_out_before_and_after_the_first_word(bad: bytes) -> None:
    assert text(bad, ROLE, bad, HELLO, bad, HELLO + bad, DONE) == ROLE + HELLO + HELLO + DONE


def test_lines_beside_the_data_are_taken_out_of_an_event() -> None:
    assert text(HELLO, b"id: 7\n" + HELLO, b": x\nretry: 1\n" + HELLO) == HELLO * 3


def test_the_kind_of_an_event_stays_with_it() -> None:
    typed = b'event: response.created\ndata: {"type": "response.created"}\n\n'

    assert text(typed) == typed


def test_data_on_several_lines_becomes_one() -> None:
    lines = b'data: {"choices":\ndata: []}\n\n'

    assert text(lines) == b'data: {"choices":[]}\n\n'


def test_an_error_ends_the_stream_and_takes_the_done_behind_it_away() -> None:
    error = b'data: {"error": {"message": "out of memory"}}\n\n'

    parts = passed(HELLO, error + DONE)

    assert parts[1] == Passed(error, end="error")
    assert passed(error)[0].end == "error"


def test_the_word_error_in_an_answer_is_no_error() -> None:
    said = event(content='{"error": "x"} [DONE]')

    assert [part.end for part in passed(HELLO, said, DONE)] == ["", "", "done", ""]
    assert text(HELLO, said, DONE) == HELLO + said + DONE


@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
def test_other_line_ends_become_line_feeds(newline: bytes) -> None:
    stream = (ROLE + HELLO + DONE).replace(b"\n", newline)

    assert text(stream) == ROLE + HELLO + DONE


def test_a_stream_of_responses_is_whole_with_its_last_kind_of_event() -> None:
    def of(kind: str) -> bytes:
        return f'event: {kind}\ndata: {{"type": "{kind}"}}\n\n'.encode()

    begun = of("response.created") + of("response.output_text.delta")

    assert passed(begun)[-1].end == ""
    assert passed(begun, of("response.completed"))[-1] == Passed(end="done")
    assert text(begun, of("response.completed")) == begun + of("response.completed")


@given(st.lists(st.integers(0, 400)), st.sampled_from([b"\n", b"\r\n"]))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int], newline: bytes) -> None:
    stream = (ROLE + b": ping\n\n" + HELLO + b"id: 1\n" + HELLO + DONE).replace(b"\n", newline)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    pieces = [stream[a:b] for a, b in itertools.pairwise(edges)]

    parts = passed(*pieces)
    assert b"".join(part.data for part in parts) == ROLE + HELLO + HELLO + DONE
    assert sum(part.speaks for part in parts) == 1


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_give_whole_events_of_data_and_nothing_else(pieces: list[bytes]) -> None:
    out = text(*pieces)

    assert not out or out.endswith(b"\n\n")
    for shown in out.split(b"\n\n")[:-1]:
        assert shown
        assert all(line.startswith((b"data: ", b"event:")) for line in shown.split(b"\n"))


def test_a_peer_says_how_many_requests_are_before_this_one() -> None:
    frames = Frames()

    said = [frames.feed(b": accepted; queued position 3\n\n"), frames.feed(b": keep-alive\n\n")]

    assert [(part.ahead, part.data) for part in said] == [(3, b""), (None, b"")]
    assert frames.feed(b": queued position 2\n\n").ahead == 2


def test_an_event_without_an_end_is_refused() -> None:
    frames = Frames()

    with pytest.raises(Oversized):
        for _ in range(LONGEST_EVENT // 2**20 + 1):
            frames.feed(b"x" * 2**20)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, False),
        ({"choices": [{"delta": {"content": None}, "finish_reason": "stop"}]}, False),
        ({"choices": []}, False),
        ({"choices": [{"delta": {"content": "x"}}]}, True),
        ({"choices": [{"delta": {"reasoning": "x"}}]}, True),
        ({"choices": [{"delta": {"reasoning_content": "x"}}]}, True),
        ({"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}, True),
        ({"choices": [{"text": "x"}]}, True),
        ({"choices": [7, {"delta": 7}]}, False),
        ({"type": "response.created"}, False),
        ({"type": "response.output_text.delta"}, True),
        ({"content": "x"}, True),
    ],
)
def test_the_first_word_is_content_reasoning_or_a_tool_call(
    value: dict[str, object], expected: bool
) -> None:
    assert speaks(value) is expected


def test_in_a_stream_of_chunks_everything_has_one_id() -> None:
    filler = Chunks("chatcmpl-ours", 7, "m", chat=True)
    frames = Frames(filler.rewrite)

    stream = filler.accepted(3) + text_of(frames, ROLE, HELLO, HELLO, DONE)

    events = [line[6:] for line in stream.decode().split("\n\n") if line]
    chunks = [json.loads(shown) for shown in events[:-1]]
    assert events[-1] == "[DONE]"
    assert {(c["id"], c["created"], c["model"]) for c in chunks} == {("chatcmpl-ours", 7, "m")}
    assert chunks[0]["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]


def text_of(frames: Frames, *pieces: bytes) -> bytes:
    return b"".join(part.data for part in passed(*pieces, frames=frames))
