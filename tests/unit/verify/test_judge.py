"""The policy over attempts: what is asked again, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.verify.check import Finding, Outcome
from meshctl.verify.judge import Ruling, combine, rule, tell, wait_s

NAMES: dict[str, Outcome] = {"p": "pass", "f": "fail", "u": "unclear"}
UNCLEAR, FAIL, PASS = Ruling("unclear"), Ruling("fail"), Ruling("pass")
FLAKY = Ruling("pass", flaky=True)


def outcomes(letters: str) -> list[Outcome]:
    return [NAMES[letter] for letter in letters]


@pytest.mark.parametrize(
    ("letters", "confirm", "expected"),
    [
        ("", 5, None),
        ("p", 5, PASS),
        ("f", 5, None),
        ("ff", 5, FAIL),
        ("fp", 5, None),
        ("fpppp", 5, None),
        ("fpppppp", 5, FLAKY),
        ("fpf", 5, FAIL),
        ("fpppppf", 5, FAIL),
        ("fp", 0, FLAKY),
        ("u", 5, None),
        ("uu", 5, None),
        ("uuu", 5, UNCLEAR),
        ("up", 5, PASS),
        ("uuf", 5, None),
        ("uuff", 5, FAIL),
        ("fu", 5, None),
        ("fuuu", 5, UNCLEAR),
        ("fpuppppp", 5, FLAKY),
    ],
)
def test_the_policy_rules_over_attempts(
    letters: str, confirm: int, expected: Ruling | None
) -> None:
    assert rule(outcomes(letters), confirm) == expected


def play(answers: Sequence[Outcome], confirm: int) -> tuple[list[Outcome], Ruling]:
    """Asks as the battery does; a script that runs out goes on with passes."""
    attempts: list[Outcome] = []
    script = iter(answers)
    while not (ruling := rule(attempts, confirm)):
        attempts.append(next(script, "pass"))
    return attempts, ruling


scripts = st.lists(st.sampled_from(list(NAMES.values())), max_size=20)
confirms = st.integers(0, 8)


@given(scripts, confirms)
def test_the_verdict_is_always_that_of_the_last_answer(
    answers: list[Outcome], confirm: int
) -> None:
    attempts, ruling = play(answers, confirm)

    assert ruling.verdict == attempts[-1]


@given(scripts, confirms)
def test_a_check_is_never_asked_more_than_the_policy_allows(
    answers: list[Outcome], confirm: int
) -> None:
    attempts, _ = play(answers, confirm)

    assert len([a for a in attempts if a != "unclear"]) <= 2 + confirm
    assert attempts.count("unclear") <= 3


@given(scripts, confirms)
def test_a_pass_after_a_failure_is_flaky_and_confirmed(
    answers: list[Outcome], confirm: int
) -> None:
    attempts, ruling = play(answers, confirm)

    assert ruling.flaky == (ruling.verdict == "pass" and "fail" in attempts)
    assert not ruling.flaky or attempts.count("pass") == 1 + confirm


@given(scripts, confirms)
def test_two_failures_never_pass(answers: list[Outcome], confirm: int) -> None:
    attempts, ruling = play(answers, confirm)

    assert attempts.count("fail") < 2 or ruling.verdict == "fail"


def test_waits_grow_with_unclear_answers_and_passes_need_none() -> None:
    waits = [wait_s(outcomes(letters)) for letters in ("", "f", "u", "uu", "fp")]

    assert waits == [0.0, 1.0, 1.0, 3.0, 0.0]


@pytest.mark.parametrize(
    ("letters", "expected"), [("pp", "pass"), ("pu", "unclear"), ("uf", "fail"), ("fp", "fail")]
)
def test_the_worst_of_several_models_decides(letters: str, expected: Outcome) -> None:
    findings = [(f"m{n}", Finding(v, f"why {n}")) for n, v in enumerate(outcomes(letters))]

    found = combine(findings)

    assert found.verdict == expected
    assert set(found.evidence) == {"m0", "m1"}


def test_a_flaky_pass_tells_what_failed() -> None:
    findings = [Finding("fail", "no token"), Finding("unclear", "reset"), Finding("pass")]

    found = tell(findings, FLAKY)

    assert found.why == "flaky: failed once, then passed 1 of 1 times; it failed with: no token"
    assert [a["verdict"] for a in found.evidence["attempts"]] == ["fail", "unclear", "pass"]


def test_a_failure_after_a_pass_shows_the_failing_attempt() -> None:
    findings = [Finding("fail", "cut"), Finding("pass"), Finding("fail", "cut again", {"n": 3})]

    found = tell(findings, FAIL)

    assert found.why == "fail in 2 of 3 attempts: cut again"
    assert found.evidence["n"] == 3
