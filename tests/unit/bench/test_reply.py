"""What one answer showed is read from its pieces, wherever they were cut."""

from __future__ import annotations

import pytest

from meshctl.bench.counters import read_counters
from meshctl.bench.reply import read_reply, server_timing
from meshctl.outside.streams import Capture, Chunk

BODY = (
    b": hold\n\n"
    b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\r\n\r\n'
    b'data: {"choices":[{"delta":{"reasoning_content":"\xc3\xa4"}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"b"}}]}\n\n'
    b'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2},'
    b'"timings":{"cache_n":3,"predicted_per_second":88.5}}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_answer_reads_the_same_wherever_its_pieces_end(size: int) -> None:
    pieces = [BODY[at : at + size] for at in range(0, len(BODY), size)]
    chunks = tuple(Chunk(0.1 + n / 1000, piece) for n, piece in enumerate(pieces))

    reply = read_reply(Capture(200, {}, 0.05, chunks))

    assert (reply.finish, reply.prompt_tokens, reply.tokens) == ("length", 9, 2)
    assert (reply.cached_tokens, reply.timings["predicted_per_second"]) == (3, 88.5)
    assert len(reply.token_s) == 2
    assert reply.error == ""


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("ttft;dur=402.485", {"ttft": 0.402485}),
        ('queue;desc="a, b; c";dur=12, ttft;dur=3', {"queue": 0.012, "ttft": 0.003}),
        ('ttft;DUR="7.5"', {"ttft": 0.0075}),
        ("miss, cache;desc=hit", {}),
        ("ttft;dur=soon", {}),
        ("", {}),
    ],
)
def test_server_timing_is_in_milliseconds_and_comes_out_in_seconds(
    header: str, found: dict[str, float]
) -> None:
    assert server_timing(header) == pytest.approx(found)


@pytest.mark.parametrize(
    "data",
    [b"data: {broken\n\n", b"data: [1]\n\n", b'data: {"error": {"message": "out of memory"}}\n\n'],
)
def test_an_event_that_is_none_is_an_error(data: bytes) -> None:
    reply = read_reply(Capture(200, {}, 0.1, (Chunk(0.1, BODY + data),)))

    assert reply.error


def test_hostile_usage_is_no_count() -> None:
    data = b'data: {"choices":[7],"usage":{"prompt_tokens":-1,"completion_tokens":true}}\n\n'

    reply = read_reply(Capture(200, {}, 0.1, (Chunk(0.1, data),)))

    assert (reply.prompt_tokens, reply.tokens) == (None, None)


def test_counters_of_several_models_are_added_and_strangers_are_none() -> None:
    text = (
        '# HELP vllm:x y\nvllm:generation_tokens_total{model_name="a"} 10.0\n'
        'vllm:generation_tokens_total{model_name="b"} 5.0\n'
        'vllm:num_requests_running{e="0"} 1.0\nvllm:num_requests_waiting{e="0"} NaN\n'
    )

    found = read_counters(text)

    assert found is not None
    assert (found.tokens, found.busy, found.drafted) == (15.0, 1.0, None)
    assert read_counters("python_gc_objects_total 3\n") is None
