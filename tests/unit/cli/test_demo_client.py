"""The demo's client: what counts as an answer, and that it asks until it is told to stop."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.cli.demo.client import Client
from meshctl.cli.demo.question import PATH, content_of
from meshctl.cli.demo.tally import Tally
from meshctl.errors import Unreachable
from meshctl.outside.http import Deadline
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp, Scripted, answer

URL = "http://127.0.0.1:20001"


def says(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


@pytest.mark.parametrize(
    ("given", "failed"),
    [
        (answer(200, says("Hi")), 0),
        (answer(200, says(" ")), 1),
        (answer(200, says(None)), 1),
        (answer(200, {"choices": []}), 1),
        (answer(200, "not JSON"), 1),
        (answer(503, says("Hi")), 1),
        (Deadline("no whole answer within 30 s"), 1),
        (Unreachable("connection refused"), 1),
    ],
)
def test_only_a_200_with_a_token_is_a_good_answer(given: Scripted, failed: int) -> None:
    client = Client(FakeHttp({f"POST {PATH}": [given]}), FakeClock())
    tally = Tally(since=0.0)

    client.ask_once(URL, tally)

    assert (tally.requests, tally.failed, len(tally.reasons)) == (1, failed, failed)


def test_it_asks_from_its_start_to_the_end_of_its_block_and_not_before() -> None:
    http = FakeHttp({f"POST {PATH}": [answer(200, says("Hi"))]})

    with Client(http, FakeClock()) as client:
        before = (client.asking, len(http.asked))
        client.start(URL)
    asked = len(http.asked)

    assert before == (False, 0)
    assert client.tally is not None and client.tally.requests == asked >= 1
    assert http.asked[0].url == URL + PATH


def test_a_client_that_was_never_started_can_be_stopped() -> None:
    client = Client(FakeHttp({}), FakeClock())

    client.stop()

    assert client.tally is None


def test_what_is_no_answer_of_a_model_says_nothing() -> None:
    assert [content_of(body) for body in (b"", b"[]", b"\xff", b'{"choices": 1}')] == [""] * 4
