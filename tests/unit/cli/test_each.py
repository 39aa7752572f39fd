"""Several services in one command: what came of each is told, whatever happens to the others."""

from __future__ import annotations

import pytest

from meshctl.cli.batches import Way, in_batches
from meshctl.errors import Refused
from meshctl.rollout.outcome import Outcome
from meshctl.spec.model import Rollout

PAIRS = [("a", "gcp"), ("b", "gcp"), ("c", "gcp")]


def going_well_but_for(key: str, error: BaseException) -> list[Outcome]:
    """The outcomes when one of the three services raises."""

    def one(pair: tuple[str, str]) -> Outcome:
        if pair[0] == key:
            raise error
        return Outcome(
            run="r",
            verb="deploy",
            service=pair[0],
            target=pair[1],
            verdict="pass",
            exit_code=0,
            message="it serves",
        )

    return in_batches(PAIRS, Way(one, lambda _, done: done, lambda _: None, lambda _: Rollout()))


def test_a_refusal_of_one_does_not_keep_the_others_back() -> None:
    outcomes = going_well_but_for("b", Refused("no slot", hint="stop one"))

    assert [one.exit_code for one in outcomes] == [0, 8, 0]
    assert (outcomes[1].message, outcomes[1].hint) == ("no slot", "stop one")


def test_a_bug_is_an_outcome_after_which_nothing_is_begun() -> None:
    outcomes = going_well_but_for("b", KeyError("spec"))

    assert [(one.service, one.exit_code) for one in outcomes] == [("a", 0), ("b", 1), ("c", 8)]
    assert "KeyError('spec')" in outcomes[1].message
    assert "meshctl status b" in outcomes[1].hint
    assert "not begun" in outcomes[2].message


def test_an_interruption_is_no_outcome() -> None:
    with pytest.raises(KeyboardInterrupt):
        going_well_but_for("b", KeyboardInterrupt())
