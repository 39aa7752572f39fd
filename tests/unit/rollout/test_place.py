"""A run is taken up where it was begun, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from meshctl.errors import Refused
from meshctl.rollout import verbs
from meshctl.rollout.ground import Ground
from tests import builders
from tests.fakes.fake_ground import World, yes


def paused() -> World:
    """A deploy of release 2 that stopped at an unclear verdict."""
    made = World()
    made.serve("1")
    made.target.behave[builders.release("2").id] = "unclear"
    assert made.deploy("2").exit_code == 7
    return made


VERBS = [verbs.resume, lambda ground: verbs.abort(ground, yes)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("key", ["project", "region"])
def test_a_run_is_not_taken_up_in_another_project_or_region(
    key: str, verb: Callable[[Ground], object]
) -> None:
    made = paused()
    before = made.state()
    moved = builders.place().model_copy(update={key: "other"})

    with pytest.raises(Refused, match="chat has no unfinished run"):
        verb(replace(made.ground(), place=moved))

    assert made.state() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_that_says_another_place_than_its_name_is_left_alone(
    verb: Callable[[Ground], object],
) -> None:
    made = paused()
    key = f"runs/{made.ledger.unfinished.run}/000001.json"  # type: ignore[union-attr]
    stored = made.memory.objects[key]
    made.memory.objects[key] = replace(stored, data=stored.data.replace(b'"local1"', b'"other"'))

    with pytest.raises(Refused, match="begun on local/other, the fleet file now says local/local1"):
        verb(made.ground())


def test_a_target_may_have_another_name_by_now() -> None:
    made = paused()
    made.target.behave.clear()
    made.target.name = "renamed"

    assert verbs.resume(made.ground()).exit_code == 0


def test_an_emulator_may_have_another_url_by_now() -> None:
    made = paused()
    made.target.behave.clear()
    again = builders.place().model_copy(update={"emulator": "http://127.0.0.1:2"})

    outcome = verbs.resume(replace(made.ground(), place=again))

    assert outcome.exit_code == 0
