"""What somebody else did to a service in the middle of a run never keeps the run from ending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from meshctl.errors import Interrupted, Refused, Unreachable
from meshctl.plan.steps import Plan, ShiftAccess, ShiftTraffic
from meshctl.rollout import verbs
from meshctl.rollout.outcome import Outcome
from meshctl.state.journal import Event
from tests import builders
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import Behaviour

STEPS: dict[str, Any] = {"rollout": {"steps": [5, 100], "bake": "10s"}}


def world(*versions: str, **behave: Behaviour) -> World:
    """Releases that serve one after the other; `r2="wedged"` says how release 2 behaves."""
    made = World()
    for name, behaviour in behave.items():
        for access in ("private", "public"):
            made.target.behave[builders.release(name[1:], access=access).id] = behaviour
    made.serve(*versions)
    return made


def when(made: World, kind: str, step: str, then: Callable[[], Any]) -> None:
    """Something happens once this event is journalled, and once only."""

    def follow(event: Event) -> None:
        if (event.kind, event.step) == (kind, step):
            made.follow = lambda _: None
            then()

    made.follow = follow


def removes(made: World) -> None:
    made.target.services.clear()


def shifted_by_a_stranger() -> tuple[World, Outcome]:
    """Release 3 fails at 100 %, and meanwhile a stranger gave all traffic to release 1."""
    made = world("1", "2", r3="wedged-in-traffic")
    to = {made.revision("1"): 100}
    when(made, "started", "07-check", lambda: made.target.move("chat", **to))
    return made, made.deploy("3", **STEPS)


def test_an_abort_of_what_is_gone_with_its_service_is_done() -> None:
    made = world("1", r2="unclear")
    made.deploy("2")
    removes(made)

    aborted = made.abort()

    assert (aborted.exit_code, aborted.restored, aborted.left) == (0, False, ())
    told = "nothing is left to undo: chat does not exist any more; aborted by ann@"
    assert aborted.message.startswith(told)
    assert aborted.hint == "`meshctl deploy chat` makes it anew"
    assert made.ledger.unfinished is None
    assert made.deploy("3").exit_code == 0


@pytest.mark.parametrize("step", ["04-shift", "05-check", "07-check"])
def test_a_rollout_that_loses_its_service_fails_and_is_over(step: str) -> None:
    made = world("1")
    when(made, "started", step, lambda: removes(made))

    failed = made.deploy("2", **STEPS)

    assert (failed.exit_code, failed.restored) == (4, False)
    assert failed.message.startswith("failed: chat does not exist any more; ")
    assert failed.left == ("meshctl deploy chat",)
    assert made.ledger.unfinished is None


def test_a_signal_that_comes_after_the_service_went_says_so() -> None:
    made = world("1")

    def goes() -> None:
        removes(made)
        made.interrupts.count = 1

    when(made, "started", "07-check", goes)

    assert made.deploy("2", **STEPS).message.startswith("interrupted: chat does not exist any more")


def test_a_candidate_is_not_called_kept_when_its_service_is_gone() -> None:
    made = world("1", r2="wedged")
    when(made, "verdict", "03-check", lambda: removes(made))

    failed = made.canary("2", keep=True)

    assert (failed.exit_code, failed.left) == (4, ("meshctl deploy chat",))
    assert "kept" not in failed.message


def test_a_rollback_whose_service_goes_is_not_left_to_do_again() -> None:
    made = world("1", "2")
    when(made, "started", "01-shift", lambda: removes(made))

    back = made.rollback()

    assert (back.exit_code, back.left) == (4, ("meshctl deploy chat",))


def test_a_rollback_of_a_removed_service_names_the_abort_of_its_open_run() -> None:
    made = world("1", r2="unclear")
    made.deploy("2")
    removes(made)

    with pytest.raises(Refused) as refused:
        made.rollback()

    assert refused.value.hint.startswith("`meshctl abort chat` ends run chat.")


def test_nothing_is_done_to_a_service_that_was_made_anew() -> None:
    made = world("1", r2="unclear")
    made.deploy("2")
    removes(made)
    other = World()
    other.serve("9")
    made.target.services = other.target.services
    acts = len(made.target.performed)

    aborted = made.abort()

    assert (aborted.exit_code, len(made.target.performed)) == (0, acts)
    assert "another service by now" in aborted.message
    assert made.ledger.unfinished is None


def test_what_a_stranger_keeps_from_being_undone_names_abort_not_resume() -> None:
    made, failed = shifted_by_a_stranger()

    with pytest.raises(Refused, match="unfinished"):
        made.deploy("4", take_traffic=True)
    resumed = made.resume()

    for outcome in (failed, resumed):
        assert (outcome.exit_code, outcome.left) == (4, ("meshctl abort chat",))
        assert "`meshctl resume chat` tries once more" in outcome.hint
        assert "traffic was moved by somebody else" in outcome.message
    assert made.traffic == {"1": 100}


@pytest.mark.parametrize(
    "onward", [World.rollback, lambda made: made.deploy("4", take_traffic=True)]
)
def test_an_abort_ends_it_and_leaves_the_strangers_split(
    onward: Callable[[World], Outcome],
) -> None:
    made, _ = shifted_by_a_stranger()

    aborted = made.abort()
    after = made.traffic, made.tags, made.ledger.unfinished

    assert (aborted.exit_code, aborted.restored) == (4, False)
    assert aborted.left == ("meshctl status chat", "meshctl rollback chat")
    assert aborted.message.startswith("aborted, and the previous state is NOT fully restored")
    assert "--take-traffic" in aborted.hint
    assert after == ({"1": 100}, {}, None)
    assert onward(made).exit_code == 0


def test_an_abort_that_nobody_answers_is_still_owed() -> None:
    made = world("1", r2="unclear")
    made.deploy("2")

    def silent(_: Any) -> None:
        raise Unreachable("no answer from the cloud")

    made.target.whenever = silent
    aborted = made.abort()
    made.target.whenever = lambda _: None

    assert (aborted.exit_code, aborted.left) == (4, ("meshctl resume chat",))
    assert made.resume().exit_code == 0
    assert made.tags == {}


def opened_and_built_on() -> tuple[World, Outcome]:
    """A first release fails in the open, and meanwhile a stranger made a revision beside it."""
    made = world()
    bad = builders.release("1", access="public").id

    def builds() -> None:
        made.target.behave[bad] = "wedged"
        chat = made.target.services["chat"]
        chat.revisions.append(builders.revision("theirs", "7"))

    when(made, "finished", "04-shift", builds)
    return made, made.deploy("1", access="public")


def test_a_service_that_a_stranger_builds_on_is_neither_closed_nor_removed() -> None:
    made, failed = opened_and_built_on()

    aborted = made.abort()

    assert (failed.exit_code, failed.left) == (4, ("meshctl abort chat",))
    assert (aborted.exit_code, aborted.left) == (4, ("meshctl status chat",))
    assert "did not make; it is left alone, open or closed" in aborted.message
    assert made.target.services["chat"].public
    assert ShiftAccess(public=False) not in made.target.performed
    assert made.ledger.unfinished is None


def test_whoever_aborts_is_told_before_the_question_what_will_not_be_undone() -> None:
    made, _ = opened_and_built_on()
    shown: list[Plan] = []

    def no(plan: Plan) -> None:
        shown.append(plan)
        raise Interrupted("no")

    with pytest.raises(Interrupted):
        verbs.abort(made.ground(), no)

    assert "it is left alone" in shown[0].notes[0]
    assert made.ledger.unfinished is not None


def test_somebody_elses_service_of_the_same_name_is_not_called_removed() -> None:
    made = world()
    other = World()
    other.serve("9")

    def made_by_others() -> None:
        made.target.services = other.target.services

    when(made, "started", "02-place", made_by_others)
    failed = made.deploy("1")

    assert (failed.exit_code, failed.restored) == (3, True)
    assert failed.message.startswith("failed: chat is another service by now")
    assert not any(isinstance(act, ShiftTraffic) for act in made.target.performed)
