"""Whatever comes back: a verdict, never an exception, and no secret in the record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import Unreachable, UsageError
from meshctl.secret import Secret
from meshctl.verify import Subject, run_battery
from meshctl.verify.ask import LONGEST_STREAM
from meshctl.verify.presentable import presentable
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp, Scripted, answer, streamed
from tests.unit.verify.talking import CHAT, MODELS, STREAM, TOKEN, endpoint, listed, subject

KEYS = (
    "data",
    "id",
    "aliases",
    "choices",
    "message",
    "delta",
    "content",
    "usage",
    "error",
    "model",
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
bodies = anything.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)
texts = st.text(max_size=30) | anything.map(lambda value: f"data: {json.dumps(value)}")


def verify(script: dict[str, list[Scripted]]) -> str:
    """The whole verdict as it would be journalled."""
    http: FakeHttp = endpoint(script)
    verdict = run_battery(subject(), ("contract",), http=http, clock=FakeClock(), confirm=0)
    return verdict.model_dump_json()


@settings(max_examples=150, deadline=None)
@given(status=st.sampled_from([200, 200, 200, 302, 403, 500, 503, 999]), body=bodies)
def test_any_whole_answer_gets_a_verdict(status: int, body: bytes) -> None:
    given_back = answer(status, body, x_mesh_release="r-1")

    assert '"verdict":' in verify({MODELS: [given_back]})
    assert '"verdict":' in verify({CHAT: [given_back]})


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(texts, max_size=6), cut=st.booleans())
def test_any_stream_gets_a_verdict(lines: list[str], cut: bool) -> None:
    then = Unreachable("reset by peer") if cut else None

    assert '"verdict":' in verify({STREAM: [streamed(*lines, then=then)]})


@pytest.mark.parametrize("depth", [100, 500, 900, 990, 2000])
def test_deep_nesting_gets_a_verdict(depth: int) -> None:
    deep = '{"error": ' + "[" * depth + "]" * depth + "}"

    assert '"fail"' in verify({MODELS: [answer(500, deep)], CHAT: [answer(200, deep)]})
    assert '"fail"' in verify({STREAM: [streamed(f"data: {deep}")]})


def test_a_stream_without_end_is_left_after_a_million_characters() -> None:
    http = endpoint({STREAM: [streamed(*[": " + "x" * 998] * 2000)]})

    verdict = run_battery(subject(), ("stream",), http=http, clock=FakeClock())

    assert LONGEST_STREAM < 2000 * 1000
    assert "no end in sight" in verdict.why


ECHOES: list[tuple[str, Scripted]] = [
    (MODELS, answer(403, f"you sent {TOKEN}")),
    (MODELS, answer(302, location=f"https://login.example/?{TOKEN}")),
    (MODELS, answer(500, " " * 290 + TOKEN)),
    (MODELS, listed(TOKEN)),
    (MODELS, listed("m", "mini", release=TOKEN)),
    (MODELS, Unreachable(f"cannot send {TOKEN}")),
    (CHAT, answer(200, {"model": TOKEN, "choices": [{"message": {"content": TOKEN}}]})),
    (CHAT, answer(200, json.dumps({"error": {"message": TOKEN}}).replace("eyJ", "\\u0065yJ"))),
    (STREAM, streamed(f"event: {TOKEN}")),
    (
        STREAM,
        streamed(*[f'data: {{"choices": [{{"delta": {{"content": "{c}"}}}}]}}\n' for c in TOKEN]),
    ),
]


@pytest.mark.parametrize(("question", "echo"), ECHOES)
def test_the_token_is_never_recorded(question: str, echo: Scripted) -> None:
    recorded = verify({question: [echo]})

    assert TOKEN[:8] not in recorded
    assert Secret(TOKEN).reveal()[-8:] not in recorded


def test_foreign_text_is_printable_and_short() -> None:
    shown = presentable({"a\x1b[31m": ["\x00\ud800 b\n\n c" + "d" * 500]}, None)

    assert list(shown) == ["a\N{REPLACEMENT CHARACTER}[31m"]
    assert shown["a\N{REPLACEMENT CHARACTER}[31m"][0].startswith(
        "\N{REPLACEMENT CHARACTER}" * 2 + " b c"
    )
    assert len(shown["a\N{REPLACEMENT CHARACTER}[31m"][0]) == 300


def test_lists_and_numbers_are_bounded() -> None:
    shown: dict[str, Any] = presentable(
        {"many": list(range(1000)), "big": 10**30, "nan": float("nan"), "s": 0.12345, "ok": True},
        None,
    )

    assert len(shown["many"]) == 50
    assert shown["big"] == "a number beyond all use"
    assert (shown["nan"], shown["s"], shown["ok"]) == ("nan", 0.123, True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "chat.example"},
        {"url": "ftp://chat.example"},
        {"url": "https://chat.example/a b"},
        {"token": Secret("")},
        {"token": Secret("a\nb")},
        {"token": Secret("schlüssel")},
        {"token_deadline_s": 0.0},
        {"token_deadline_s": float("nan")},
    ],
)
def test_a_subject_that_cannot_be_asked_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        Subject(**{"url": "https://chat.example"} | wrong)

    assert refused.value.hint
    assert "schlüssel" not in refused.value.message
