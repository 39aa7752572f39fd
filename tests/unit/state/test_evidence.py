"""How the judgements of a battery add up."""

from __future__ import annotations

import pytest

from meshctl.state.evidence import Evidence, Judgement, Verdict, overall

NAMES: dict[str, Judgement] = {"p": "pass", "f": "fail", "u": "unclear", "s": "skipped"}


def checks(letters: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(name=f"check {n}", verdict=NAMES[letter], why=f"because {n}")
        for n, letter in enumerate(letters)
    )


@pytest.mark.parametrize(
    ("letters", "verdict"),
    [("p", "pass"), ("ps", "pass"), ("pf", "fail"), ("pu", "unclear"), ("uf", "fail"),
     ("s", "unclear"), ("", "unclear"), ("su", "unclear")],
)  # fmt: skip
def test_fail_wins_over_unclear_and_nothing_asked_proves_nothing(
    letters: str, verdict: str
) -> None:
    assert overall(checks(letters)) == verdict


def test_a_verdict_tells_the_first_reason_that_decided_it() -> None:
    assert Verdict(verdict="fail", checks=checks("puff")).why == "check 2: because 2"
    assert not Verdict(verdict="fail").passed
