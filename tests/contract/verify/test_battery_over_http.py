"""The whole battery over real HTTP, against endpoints that lie, stall, break and recover."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from meshctl.outside.http import RealHttp
from meshctl.secret import Secret
from meshctl.state.evidence import Evidence, Verdict
from meshctl.verify import ModelAsked, Subject, run_battery
from tests.contract.verify.scripted_server import (
    EVENTS,
    HANG,
    RESET,
    Part,
    Parts,
    ScriptedServer,
    page,
    silence,
)
from tests.fakes.fake_clock import FakeClock

DEADLINE_S = 0.5
MODELS, CHAT = "GET /v1/models", "POST /v1/chat/completions"
LISTED = page(200, '{"data": [{"id": "m"}]}', X_Mesh_Release="r-1")


def said(content: str = "1 2", model: str = "m") -> tuple[Part, ...]:
    return page(200, json.dumps({"model": model, "choices": [{"message": {"content": content}}]}))


def event(**choice: Any) -> bytes:
    return b"data: " + json.dumps({"model": "m", "choices": [choice]}).encode() + b"\n\n"


TOKENS = (event(delta={"content": "1"}), event(delta={"content": "2"}))
FINISH = event(delta={}, finish_reason="stop")
TOLD = (EVENTS, b": accepted; queued position 1\n\n", *TOKENS, FINISH, b"data: [DONE]\n\n")


def verify(
    script: Mapping[str, Sequence[Parts]], *, only: tuple[str, ...] = (), **changed: Any
) -> Verdict:
    """The verdict on an endpoint whose chat answers are, in order, those of the script."""
    with ScriptedServer({MODELS: [LISTED]} | dict(script)) as server:
        chosen: dict[str, Any] = {
            "url": server.url,
            "release": "r-1",
            "identity": True,
            "models": (ModelAsked("m", default=True),),
            "token_deadline_s": DEADLINE_S,
        }
        subject = Subject(**chosen | changed)
        return run_battery(subject, ("contract",), http=RealHttp(), clock=FakeClock(), only=only)


def verdicts(verdict: Verdict) -> dict[str, str]:
    return {check.name: check.verdict for check in verdict.checks}


def of(verdict: Verdict, name: str) -> Evidence:
    return next(check for check in verdict.checks if check.name == name)


def test_an_endpoint_that_serves_passes() -> None:
    verdict = verify({CHAT: [said(), TOLD]})

    assert verdict.verdict == "pass"
    assert set(verdicts(verdict).values()) == {"pass"}


def test_an_engine_that_sends_headers_and_no_token_fails() -> None:
    wedged = (EVENTS, HANG)

    verdict = verify({CHAT: [wedged]})

    assert verdicts(verdict)["reachable"] == "pass"
    assert "no token within 0.5 s" in of(verdict, "completion").why
    assert "answered headers, but no token within 0.5 s" in of(verdict, "stream").why


def test_an_engine_that_only_keeps_alive_fails() -> None:
    alive = (EVENTS, *(b": keep-alive\n\n", 0.1) * 100)

    verdict = verify({CHAT: [alive]}, only=("stream",))

    assert verdict.verdict == "fail"
    assert "no token within 0.5 s" in verdict.why


def test_an_engine_that_accepts_and_says_nothing_fails() -> None:
    verdict = verify({CHAT: [silence]})

    assert verdict.verdict == "fail"
    assert "no header and no token within 0.5 s" in of(verdict, "stream").why


def test_an_endpoint_whose_health_alone_answers_does_not_pass() -> None:
    healthy = page(200, '{"status": "ok"}')

    verdict = verify({"GET /health": [healthy], MODELS: [silence], CHAT: [silence]})

    assert verdict.verdict == "unclear"
    assert verdicts(verdict)["completion"] == "skipped"


def test_a_closed_port_is_unclear() -> None:
    with ScriptedServer({}) as gone:
        url = gone.url

    verdict = verify({}, url=url)

    assert verdict.verdict == "unclear"
    assert "Connection refused" in verdict.why


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        ((EVENTS, *TOKENS, FINISH), "ended without [DONE]"),
        ((EVENTS, *TOKENS, b"data: [DONE]\n\n"), "without a finish_reason"),
        ((EVENTS, *TOKENS, 0.1, RESET), "the stream was cut"),
        ((EVENTS, *TOKENS), "without a finish_reason"),
        ((EVENTS, *TOKENS, HANG), "the stream did not end within 0.5 s"),
        ((EVENTS, TOKENS[0], b"event: ping\n\n"), "neither data nor a comment"),
        ((EVENTS, b'data: {"error": {"message": "engine died"}}\n\n'), "engine died"),
        ((*TOLD, b"data: {}\n\n"), "something after [DONE]"),
        ((EVENTS, b"data: \xff\xfe\n\n"), "no JSON object"),
    ],
)
def test_a_stream_that_breaks_its_form_fails(stream: Parts, why: str) -> None:
    verdict = verify({CHAT: [stream]}, only=("stream",))

    assert verdict.verdict == "fail"
    assert why in verdict.why


def test_a_chunked_stream_cut_between_chunks_fails() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(TOKENS[0]), TOKENS[0])

    verdict = verify({CHAT: [(head, chunk)]}, only=("stream",))

    assert "the stream was cut" in verdict.why


def test_an_answer_by_another_model_fails() -> None:
    verdict = verify({CHAT: [said(model="qwen")]}, only=("completion",))

    assert "asked for m, answered by qwen" in verdict.why


def test_a_connection_that_breaks_in_the_answer_is_unclear() -> None:
    half = (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",)

    verdict = verify({CHAT: [half]}, only=("completion",))

    assert verdict.verdict == "unclear"


def test_another_release_at_the_url_fails_and_both_are_named() -> None:
    verdict = verify({CHAT: [said(), TOLD]}, release="r-2")

    assert verdict.verdict == "fail"
    assert "expected release r-2, but here answers r-1" in verdict.why


def test_a_closed_door_fails_with_the_way_in() -> None:
    verdict = verify({MODELS: [page(403, "Forbidden")]}, token=Secret("a-token"))

    assert verdict.verdict == "fail"
    assert "roles/run.invoker" in verdict.why


def test_a_flaky_engine_passes_when_five_more_answers_are_good() -> None:
    verdict = verify({CHAT: [said(""), said()]}, only=("completion",))

    assert verdict.passed
    assert of(verdict, "completion").flaky


def test_a_flaky_engine_fails_when_one_of_five_is_bad() -> None:
    answers = [said(""), *[said()] * 4, said("")]

    verdict = verify({CHAT: answers}, only=("completion",))

    assert verdict.verdict == "fail"


def test_an_engine_that_is_still_loading_is_waited_for() -> None:
    loading = page(503, '{"error": {"message": "Loading model"}}')

    verdict = verify({MODELS: [loading, loading, LISTED], CHAT: [said(), TOLD]})

    assert verdict.passed
