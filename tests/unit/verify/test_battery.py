"""What is asked, in which order and how often, and what the verdict says."""

from __future__ import annotations

import pytest

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.http import Deadline
from meshctl.state.evidence import Evidence, Verdict
from meshctl.verify import BATTERIES, ModelAsked, Subject, check_names, run_battery
from meshctl.verify.checks import CHECKS
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp, answer, streamed
from tests.unit.verify.talking import (
    CHAT,
    MODELS,
    STREAM,
    TOKEN,
    endpoint,
    listed,
    said,
    subject,
    told,
)

ALL = ("reachable", "identity", "model-listed", "completion", "stream")


def verify(http: FakeHttp, whom: Subject | None = None, *, only: tuple[str, ...] = ()) -> Verdict:
    return run_battery(whom or subject(), ("contract",), http=http, clock=FakeClock(), only=only)


def of(verdict: Verdict, name: str) -> Evidence:
    return next(check for check in verdict.checks if check.name == name)


def test_a_good_endpoint_passes_every_check_in_order() -> None:
    http = endpoint()

    verdict = verify(http)

    assert verdict.verdict == "pass"
    assert tuple(check.name for check in verdict.checks) == ALL
    assert {check.verdict for check in verdict.checks} == {"pass"}
    assert len(http.asked) == 5


def test_every_question_carries_the_token_and_the_deadline() -> None:
    http = endpoint()

    verify(http, subject(token_deadline_s=7.0))

    assert {request.headers["Authorization"] for request in http.asked} == {f"Bearer {TOKEN}"}
    assert set(http.timeouts_s) == {7.0}


def test_without_a_token_no_authorization_is_sent() -> None:
    http = endpoint()

    verify(http, subject(token=None))

    assert all("Authorization" not in request.headers for request in http.asked)


def test_the_completion_is_short_cold_and_whole_and_the_stream_is_a_stream() -> None:
    http = endpoint()

    verify(http)

    bodies = [request.body for request in http.asked if request.method == "POST"]
    asked = [(b["model"], b["max_tokens"], b["temperature"], b["stream"]) for b in bodies]
    assert asked == [("m", 8, 0, False), ("m", 8, 0, True)]


def test_health_is_never_asked() -> None:
    http = endpoint()

    verify(http)

    assert http.count("/health") == 0
    assert http.count("/v1/models") == 3


def test_a_slash_after_the_url_does_not_double() -> None:
    http = endpoint()

    verdict = verify(http, subject(url="https://chat.example/"))

    assert verdict.passed
    assert http.asked[0].url == "https://chat.example/v1/models"


def test_nothing_more_is_asked_of_an_unreachable_endpoint() -> None:
    http = endpoint({MODELS: [Deadline("no whole answer within 60 s")]})

    verdict = verify(http)

    assert verdict.verdict == "unclear"
    assert verdict.why.startswith("reachable: ")
    assert {c.why for c in verdict.checks[1:]} == {"reachable did not pass"}
    assert http.count("/v1/models") == 3
    assert http.count("/v1/chat/completions") == 0


def test_an_endpoint_that_shuts_us_out_fails_and_nothing_more_is_asked() -> None:
    http = endpoint({MODELS: [answer(403, "Forbidden")]})

    verdict = verify(http)

    assert verdict.verdict == "fail"
    assert [c.verdict for c in verdict.checks] == ["fail", *["skipped"] * 4]
    assert len(http.asked) == 2


def test_a_front_that_needs_a_moment_gets_it() -> None:
    http = endpoint({MODELS: [answer(503), answer(503), listed()]})
    clock = FakeClock()

    verdict = run_battery(subject(), ("reachable",), http=http, clock=clock)

    assert verdict.passed
    assert not of(verdict, "reachable").flaky
    assert clock.slept == [1.0, 3.0]
    assert of(verdict, "reachable").seconds == 4.0


def test_a_check_that_failed_once_is_confirmed_and_marked_flaky() -> None:
    http = endpoint({CHAT: [said(""), said()]})

    verdict = verify(http)

    assert verdict.verdict == "pass"
    assert of(verdict, "completion").flaky
    assert "without a token" in of(verdict, "completion").why
    assert len([r for r in http.asked if r.body and not r.body["stream"]]) == 7


def test_a_failure_among_the_confirmations_fails() -> None:
    http = endpoint({CHAT: [said(""), said(), said(), said(""), said()]})

    verdict = verify(http)

    completion = of(verdict, "completion")
    assert (verdict.verdict, completion.verdict, completion.flaky) == ("fail", "fail", False)
    verdicts = [attempt["verdict"] for attempt in completion.evidence["attempts"]]
    assert verdicts == ["fail", "pass", "pass", "fail"]


def test_the_number_of_confirmations_is_the_callers() -> None:
    http = endpoint({CHAT: [said(""), said()]})

    run_battery(subject(), ("completion",), http=http, clock=FakeClock(), confirm=2)

    assert http.count("/v1/chat/completions") == 4


def test_a_check_that_does_not_apply_is_skipped_with_its_reason() -> None:
    verdict = verify(endpoint(), subject(identity=False))

    assert verdict.passed
    assert of(verdict, "identity").verdict == "skipped"
    assert (
        of(verdict, "identity").why == "not asked: traffic is split, or answers carry no release id"
    )


def test_identity_without_a_release_to_expect_is_skipped() -> None:
    verdict = verify(endpoint(), subject(release=None))

    assert of(verdict, "identity").why == "no release is expected here"


def test_a_service_without_models_is_still_reached_and_identified() -> None:
    verdict = verify(endpoint(), subject(models=()))

    assert verdict.passed
    assert [c.verdict for c in verdict.checks] == ["pass", "pass", *["skipped"] * 3]


def test_only_default_models_must_show_a_token() -> None:
    http = endpoint({MODELS: [listed("m", "mini", "n")]})

    verify(http, subject(models=(*subject().models, ModelAsked("n"))))

    assert {request.body["model"] for request in http.asked if request.body} == {"m"}


def test_where_no_model_is_the_default_all_must_show_a_token() -> None:
    http = endpoint({MODELS: [listed("a", "b")], CHAT: [said(model="a"), said(model="b")]})

    verdict = verify(http, subject(models=(ModelAsked("a"), ModelAsked("b"))))

    assert verdict.passed
    assert set(of(verdict, "completion").evidence) == {"a", "b"}


def test_one_dumb_model_of_two_fails_the_check_and_is_named() -> None:
    http = endpoint({MODELS: [listed("a", "b")], CHAT: [said(model="a"), said("", model="b")]})
    whom = subject(models=(ModelAsked("a"), ModelAsked("b")))

    verdict = run_battery(whom, ("completion",), http=http, clock=FakeClock(), confirm=0)

    assert of(verdict, "completion").verdict == "fail"
    assert "b: answered without a token" in of(verdict, "completion").why


def test_a_wedged_engine_fails_and_a_broken_network_is_unclear() -> None:
    wedged = endpoint({CHAT: [Deadline("late")], STREAM: [streamed(then=Deadline("late"))]})
    broken = endpoint({CHAT: [Unreachable("reset")], STREAM: [Unreachable("reset")]})

    fail, unclear = verify(wedged), verify(broken)

    assert [c.verdict for c in fail.checks[-2:]] == ["fail", "fail"]
    assert "no token within 60 s" in of(fail, "completion").why
    assert "answered headers, but no token within 60 s" in of(fail, "stream").why
    assert [c.verdict for c in unclear.checks[-2:]] == ["unclear", "unclear"]


def test_evidence_is_noted_as_it_is_concluded_skipped_or_not() -> None:
    noted: list[Evidence] = []
    whom = subject(identity=False)

    verdict = run_battery(
        whom, ("contract",), http=endpoint(), clock=FakeClock(), note=noted.append
    )

    assert tuple(noted) == verdict.checks


def test_numbers_are_evidence() -> None:
    verdict = verify(endpoint())

    completion, stream = of(verdict, "completion").evidence, of(verdict, "stream").evidence
    assert (completion["tokens"], completion["seconds"]) == (8, 0.1)
    assert completion["excerpt"] == "1 2 3"
    assert (stream["first_event_s"], stream["first_token_s"], stream["deltas"]) == (0.1, 0.1, 2)
    assert stream["excerpt"] == "1 2"


def test_only_asks_what_it_names_and_what_that_leans_on() -> None:
    http = endpoint()

    verdict = verify(http, only=("stream",))

    assert [check.name for check in verdict.checks] == ["reachable", "stream"]


def test_a_silent_endpoint_is_found_out_before_the_only_check() -> None:
    http = endpoint({MODELS: [Deadline("late")], STREAM: [told()]})

    verdict = verify(http, only=("stream",))

    assert verdict.verdict == "unclear"
    assert http.count("/v1/chat/completions") == 0


def test_an_unknown_name_is_refused_with_a_near_one() -> None:
    with pytest.raises(UsageError) as refused:
        verify(endpoint(), only=("strem",))

    assert "'strem'" in refused.value.message
    assert refused.value.hint == "did you mean stream?"


def test_a_name_that_is_near_to_none_gets_the_list() -> None:
    with pytest.raises(UsageError) as refused:
        check_names(("zzz",))

    assert refused.value.hint.startswith("known: contract, mesh, reachable")


@pytest.mark.parametrize("names", [(), ("mesh",)])
def test_an_empty_battery_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="nothing to check"):
        run_battery(subject(), names, http=endpoint(), clock=FakeClock())


def test_the_mesh_battery_beside_the_contract_adds_nothing_yet() -> None:
    assert check_names(("mesh", "contract")) == ALL


def test_checks_are_named_once_and_in_the_order_they_are_asked() -> None:
    assert check_names(("stream", "contract", "reachable")) == ALL


def test_only_a_check_outside_the_battery_is_refused() -> None:
    with pytest.raises(UsageError, match="stream is not among the checks of completion"):
        run_battery(
            subject(), ("completion",), http=endpoint(), clock=FakeClock(), only=("stream",)
        )


def test_nothing_but_skipped_checks_is_refused_before_anything_is_asked() -> None:
    http = endpoint()

    with pytest.raises(UsageError, match="every check is skipped: identity"):
        verify(http, subject(identity=False), only=("identity",))

    assert http.asked == []


def test_a_negative_number_of_confirmations_is_refused() -> None:
    with pytest.raises(UsageError, match="confirm is -1"):
        run_battery(subject(), ("contract",), http=endpoint(), clock=FakeClock(), confirm=-1)


def test_every_check_stands_in_a_battery_under_its_own_name() -> None:
    held = {name for battery in BATTERIES.values() for name in battery}

    assert held == set(CHECKS)
    assert BATTERIES["contract"] == tuple(CHECKS)
