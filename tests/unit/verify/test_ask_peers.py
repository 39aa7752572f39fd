"""A peer is proved only by its own answer, as the release that was verified."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.errors import Unreachable
from meshctl.state.evidence import Verdict
from meshctl.verify.peers import PeerAsked, ask_peers
from meshctl.verify.subject import ModelAsked
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp, answer

WAY_IN = "gcloud run services add-iam-policy-binding peer-a"
PEER = PeerAsked(
    "peer-a", "r1", (ModelAsked("far", default=True), ModelAsked("away")), 245.0, WAY_IN
)
OF_PEER = {"x_mesh_peer": "peer-a", "x_mesh_release": "r1"}


def said(model: str, **headers: str) -> Any:
    body = {"model": model, "choices": [{"message": {"content": "1 2 3"}}]}
    return answer(200, body, **{**OF_PEER, **headers})


def asked(*answers: Any, peer: PeerAsked = PEER) -> tuple[Verdict, FakeHttp]:
    http = FakeHttp({"POST /v1/chat/completions": list(answers)})
    verdict = ask_peers("http://chat", None, (peer,), http=http, clock=FakeClock(), confirm=0)
    return verdict, http


def test_every_model_of_a_peer_is_asked_and_given_time_to_wake() -> None:
    verdict, http = asked(said("far"), said("away"))

    assert verdict.verdict == "pass"
    assert [request.body["model"] for request in http.asked if request.body] == ["far", "away"]
    assert http.timeouts_s == [245.0, 245.0]


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"x_mesh_peer": "peer-b"}, "far was answered by peer peer-b, not by peer peer-a"),
        ({"x_mesh_release": "r2"}, "peer peer-a answered as release r2, not r1"),
    ],
)
def test_somebody_elses_answer_proves_nothing(headers: dict[str, str], why: str) -> None:
    verdict, _ = asked(said("far", **headers))

    assert verdict.verdict == "fail"
    assert why in verdict.why


def test_an_answer_of_the_coordinator_itself_proves_nothing() -> None:
    body = {"model": "far", "choices": [{"message": {"content": "1"}}]}

    verdict, _ = asked(answer(200, body, x_mesh_release="r1"))

    assert "far was answered by the coordinator itself" in verdict.why


def test_a_peer_that_lets_nobody_in_is_told_with_the_command_that_opens_it() -> None:
    verdict, _ = asked(answer(403, "Forbidden", **OF_PEER))

    assert verdict.verdict == "fail"
    assert WAY_IN in verdict.why


def test_a_403_of_the_coordinator_is_not_blamed_on_the_peer() -> None:
    verdict, _ = asked(answer(403, "Forbidden"))

    assert verdict.verdict == "fail"
    assert WAY_IN not in verdict.why


@pytest.mark.parametrize("last", [answer(503, "waking", **OF_PEER), Unreachable("no route")])
def test_a_peer_that_is_not_there_yet_is_unclear_and_asked_three_times(last: Any) -> None:
    verdict, http = asked(last)

    assert verdict.verdict == "unclear"
    assert len(http.asked) >= 3


def test_a_release_that_nobody_knows_is_not_compared() -> None:
    peer = PeerAsked("peer-a", None, (ModelAsked("far"),), 5.0)

    verdict, _ = asked(said("far", x_mesh_release="r9"), peer=peer)

    assert verdict.verdict == "pass"
