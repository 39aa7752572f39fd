"""What a cutover means when it is not told which release, and what a plan says of an abort."""

from __future__ import annotations

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.plan.steps import Plan
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice
from meshctl.rollout.wish import Wish
from tests import builders
from tests.fakes.fake_ground import World


def served(*versions: str) -> World:
    made = World()
    made.serve(*versions)
    return made


def test_a_cutover_without_a_choice_takes_the_candidate_that_passed() -> None:
    made = served("1")
    made.canary("2")

    made.cutover(100, choice=Choice())

    assert made.traffic == {"2": 100}


def test_a_cutover_without_a_choice_never_undoes_a_rollback() -> None:
    made = served("1", "2")
    made.rollback()

    with pytest.raises(Refused, match="no candidate"):
        made.cutover(100, choice=Choice())

    assert made.traffic == {"1": 100}


def test_a_cutover_without_a_choice_prefers_the_candidate_to_what_was_rolled_back_from() -> None:
    made = served("1", "2")
    made.rollback()
    made.canary("3")

    made.cutover(100, choice=Choice())

    assert made.traffic == {"3": 100}


def test_of_several_candidates_one_has_to_be_named() -> None:
    made = served("1")
    made.canary("2")
    made.canary("3")

    with pytest.raises(UsageError, match="several candidates"):
        made.cutover(100, choice=Choice())

    assert made.traffic == {"1": 100}


def test_an_abort_shows_the_steps_of_its_own_way_back() -> None:
    made = served("1")
    made.target.behave[builders.release("2").id] = "unclear"
    made.canary("2")
    shown: list[Plan] = []

    verbs.abort(made.ground(), shown.append)

    assert [step.act.act for step in shown[0].steps] == ["retire-tag"]
    assert (shown[0].verb, shown[0].steps[0].undo) == ("abort", "")


@pytest.mark.parametrize("tag", ["Bad_Tag", "1st", "x" * 43, "a-", ""])
def test_a_tag_that_no_host_name_can_begin_with_is_refused_before_anything(tag: str) -> None:
    made = served("1")
    wish = Wish(builders.fleet("2"), None, tag=tag)

    with pytest.raises(UsageError, match="cannot be a tag"):
        verbs.canary(made.ground(), wish, lambda _: None)

    assert made.tags == {}
