"""Each way a run can end, reached on purpose: its exit code, its words, and where traffic is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from meshctl.errors import Interrupted, LockHeld, Refused, Unreachable
from meshctl.outside.gcp import LostAnswer
from meshctl.plan.steps import Act, Plan, RetireTag, ShiftTraffic
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.wish import Wish
from meshctl.state.evidence import Verdict
from meshctl.state.journal import Event
from meshctl.state.lock import acquire, break_lock
from tests import builders
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import Behaviour, Fault

STEPS: dict[str, Any] = {"rollout": {"steps": [5, 100], "bake": "10s"}}
SIDES: tuple[Literal["before", "after"], ...] = ("before", "after")
OLD, NEW = {"1": 100}, {"2": 100}


def world(*versions: str, **behave: Behaviour) -> World:
    """Releases that serve one after the other; `r2="wedged"` says how release 2 behaves."""
    made = World()
    made.serve(*(versions or ("1",)))
    for name, behaviour in behave.items():
        for access in ("private", "public"):
            id = builders.release(name[1:], access=access).id
            made.target.behave[id] = behaviour
    return made


def when_acting(made: World, kind: type[Act], then: Callable[[], None]) -> None:
    """Something happens just before an act of that kind is performed."""
    made.target.whenever = lambda act: then() if isinstance(act, kind) else None


def fails_when(made: World, matches: Callable[[Act], bool], error: Any) -> None:
    """Every matching act fails before it changes anything."""

    def whenever(act: Act) -> None:
        if matches(act):
            raise error

    made.target.whenever = whenever


def told(outcome: Outcome) -> tuple[int, bool | None, str]:
    return outcome.exit_code, outcome.restored, outcome.message


# 0: done as asked, or nothing to do.


def test_a_release_that_passed_serves_alone() -> None:
    made = world()

    outcome = made.deploy("2", **STEPS)

    assert told(outcome) == (0, None, f"{outcome.to_release} serves and passed")
    assert [step.status for step in outcome.steps] == ["done"] * 8
    assert outcome.verdict == "pass"
    assert (made.traffic, made.tags) == (NEW, {})


def test_a_flaky_release_passes_and_is_marked() -> None:
    made = world(r2="flaky")

    outcome = made.deploy("2")

    assert outcome.exit_code == 0
    assert any(check.flaky for check in outcome.evidence)


def test_a_second_deploy_has_nothing_to_do_and_makes_no_run() -> None:
    made = world()

    outcome = made.deploy("1")

    assert told(outcome) == (0, None, f"chat is up to date: release {outcome.to_release} serves")
    assert len(made.ledger.runs) == 1


def test_a_proved_release_is_done_although_nobody_could_tidy_up() -> None:
    made = world()
    fails_when(made, lambda act: isinstance(act, RetireTag), LostAnswer("no answer"))

    outcome = made.deploy("2")

    assert outcome.exit_code == 0
    assert outcome.message.endswith("not cleaned up: 06-retire: no answer")
    assert made.traffic == NEW


def test_an_abort_of_a_paused_run_removes_the_candidate_and_is_done() -> None:
    made = world(r2="unclear")
    made.deploy("2")

    outcome = made.abort()

    assert told(outcome)[:2] == (0, True)
    assert outcome.message.startswith("what deploy began is undone; r")
    assert (outcome.verb, made.traffic, made.tags) == ("abort", OLD, {})
    with pytest.raises(Refused, match="no unfinished run"):
        made.abort()


# 3: failed, and what served before serves again.


@pytest.mark.parametrize("behaviour", ["never-ready", "wedged", "liar", "wedged-in-traffic"])
def test_a_bad_release_is_taken_back_and_the_old_one_asked(behaviour: Behaviour) -> None:
    made = world(r2=behaviour)

    outcome = made.deploy("2", **STEPS)

    assert told(outcome)[:2] == (3, True)
    serves = "serves again" if behaviour == "wedged-in-traffic" else "never stopped serving"
    assert outcome.message.startswith(f"failed; {outcome.from_release} {serves} and was asked")
    assert outcome.verdict == "fail"
    assert (made.traffic, made.tags) == (OLD, {})
    assert made.http.asked[-1] == "chat"


def test_a_first_deploy_that_fails_is_removed() -> None:
    made = World()
    made.target.behave[builders.release("1", access="public").id] = "wedged"

    outcome = made.deploy("1", access="public")

    assert told(outcome)[:2] == (3, True)
    assert outcome.message.startswith("failed, and the new service was removed again")
    assert (outcome.from_release, made.traffic) == (None, {})


def test_a_first_deploy_that_fails_in_the_open_is_closed_before_it_is_removed() -> None:
    made = World()
    wedged: dict[str, Behaviour] = {builders.release("1", access="public").id: "wedged"}
    made.follow = lambda event: (
        made.target.behave.update(wedged) if event.step == "04-shift" else None
    )

    outcome = made.deploy("1", access="public")

    assert told(outcome)[:2] == (3, True)
    assert [act.act for act in made.target.performed[-2:]] == ["shift-access", "retire-service"]
    assert made.traffic == {}


@pytest.mark.parametrize(("keep", "tags"), [(False, 0), (True, 1)])
def test_a_canary_that_fails_keeps_its_tag_only_when_asked(keep: bool, tags: int) -> None:
    made = world(r2="wedged")

    outcome = made.canary("2", keep=keep)

    assert told(outcome)[:2] == (3, True)
    assert outcome.message.startswith("failed; the candidate is kept" if keep else "failed; r")
    assert (made.traffic, len(made.tags)) == (OLD, tags)


def test_a_cutover_that_fails_takes_its_traffic_back() -> None:
    made = world()
    made.canary("2")
    made.target.behave[builders.release("2").id] = "wedged-in-traffic"

    outcome = made.cutover(5, 100)

    assert told(outcome)[:2] == (3, True)
    assert made.traffic == OLD


def test_traffic_that_was_taken_from_a_stranger_goes_back_to_the_strangers_split() -> None:
    made = world("1", "2", r3="wedged-in-traffic")
    made.target.move("chat", **{made.revision("1"): 70, made.revision("2"): 30})

    with pytest.raises(Refused, match="pinned by a stranger") as refused:
        made.deploy("3", **STEPS)
    outcome = made.deploy("3", take_traffic=True, **STEPS)

    assert refused.value.exit_code == 8
    assert told(outcome)[:2] == (3, True)
    assert made.traffic == {"1": 70, "2": 30}


# 4: not fully restored, with what is left.


def undoing(act: Act) -> bool:
    return isinstance(act, ShiftTraffic) and act.to == act.found


def test_an_undo_that_fails_says_what_is_left_and_can_be_gone_on_with() -> None:
    made = world(r2="wedged-in-traffic")
    fails_when(made, undoing, LostAnswer("no answer from the cloud"))

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (4, False)
    assert outcome.message.startswith("failed, and the previous state is NOT fully restored: ")
    assert "not undone: 04-shift: traffic back to" in outcome.message
    assert outcome.left == ("meshctl resume chat",)
    assert made.traffic == NEW

    made.target.whenever = lambda act: None
    again = made.resume()

    assert told(again)[:2] == (3, True)
    assert (made.traffic, made.tags) == (OLD, {})


def test_one_step_that_will_not_be_undone_does_not_keep_the_others_back() -> None:
    made = world(r2="wedged-in-traffic")
    fails_when(made, lambda act: isinstance(act, RetireTag), Refused("the platform says no"))

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (4, False)
    assert made.traffic == OLD


def test_what_is_left_blocks_another_deploy_and_yields_to_abort_and_rollback() -> None:
    for verb, code in ((World.abort, 0), (World.rollback, 0)):
        made = world(r2="wedged-in-traffic")
        fails_when(made, undoing, LostAnswer("no answer from the cloud"))
        made.deploy("2")
        made.target.whenever = lambda act: None

        with pytest.raises(Refused, match="unfinished"):
            made.deploy("3")

        assert verb(made).exit_code == code
        assert made.traffic == OLD


def test_an_old_release_that_answers_badly_is_not_called_restored() -> None:
    made = world(r2="wedged")
    when_acting(made, RetireTag, lambda: made.target.behave.update(
        {builders.release("1").id: "wedged"}))  # fmt: skip

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (4, False)
    assert "the previous release answers badly: completion" in outcome.message
    assert outcome.left == ("meshctl verify chat", "meshctl rollback chat")


def test_an_old_release_that_cannot_be_asked_is_not_called_restored() -> None:
    made = world(r2="wedged")
    made.follow = lambda event: setattr(made.target, "down", event.kind == "undone")

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (4, False)
    assert "could not be asked" in outcome.message


@pytest.mark.parametrize("behaviour", ["wedged", "unclear"])
def test_a_rollback_whose_target_does_not_prove_itself_stays(behaviour: Behaviour) -> None:
    made = world("1", "2", r1=behaviour)

    outcome = made.rollback()

    assert told(outcome)[:2] == (4, False)
    assert outcome.message.startswith(f"rolled back to {outcome.to_release}, which did not prove")
    assert "meshctl history chat" in outcome.hint
    assert made.traffic == OLD


def test_a_rollback_that_did_not_get_through_does_not_say_it_did() -> None:
    made = world("1", "2")
    fails_when(made, lambda act: isinstance(act, ShiftTraffic), LostAnswer("no answer"))

    outcome = made.rollback()

    assert told(outcome)[:2] == (4, False)
    assert outcome.message.startswith(f"the rollback to {outcome.to_release} did not get through")
    assert outcome.left == (f"meshctl rollback chat --to {outcome.to_release}",)
    assert made.traffic == NEW


def test_a_journal_that_cannot_be_written_is_no_restored_state() -> None:
    made = world()
    when_acting(made, ShiftTraffic, lambda: setattr(made.memory, "down", True))

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (4, False)
    assert "the journal cannot be written" in outcome.message
    assert outcome.left == ("meshctl resume chat",)
    made.memory.down = False
    made.target.whenever = lambda act: None
    assert made.resume().exit_code == 0
    assert made.traffic == NEW


# 5: somebody else holds the lock.


def test_a_rollback_takes_a_running_deploy_over_which_stops_without_undoing() -> None:
    made = world()
    rolled: list[Outcome] = []

    def in_the_middle(event: Event) -> None:
        if event.kind == "finished" and event.step == "04-shift":
            made.follow = lambda _: None
            rolled.append(made.rollback())

    made.follow = in_the_middle

    with pytest.raises(LockHeld) as stopped:
        made.deploy("2", **STEPS)

    assert stopped.value.exit_code == 5
    assert rolled[0].exit_code == 0
    assert made.traffic == OLD
    assert [run.state for run in made.ledger.runs] == ["closed", "fenced", "closed"]
    assert made.written(made.ledger.runs[1].run)[-1].data["by"] == "rollback"


def test_an_abort_takes_a_running_deploy_over_and_undoes_it() -> None:
    made = world()
    aborted: list[Outcome] = []

    def in_the_middle(event: Event) -> None:
        if event.kind == "started" and event.step == "07-check":
            made.follow = lambda _: None
            aborted.append(made.abort())

    made.follow = in_the_middle

    with pytest.raises(LockHeld):
        made.deploy("2", **STEPS)

    assert aborted[0].exit_code == 0
    assert (made.traffic, made.tags) == (OLD, {})
    assert made.ledger.unfinished is None


def test_a_lock_that_is_lost_stops_the_run_before_its_next_step() -> None:
    made = world()

    def broken(event: Event) -> None:
        if event.kind == "finished" and event.step == "03-check":
            break_lock(made.memory, made.clock, "chat", "local:local1")

    made.follow = broken

    with pytest.raises(LockHeld, match="was taken away"):
        made.deploy("2", **STEPS)

    run = made.ledger.unfinished
    assert run is not None and made.written(run.run)[-1].step == "03-check"
    assert made.traffic == OLD


def test_a_deploy_waits_for_nobody_and_changes_nothing() -> None:
    made = world()
    ground = made.ground()
    acquire(made.memory, made.clock, ground.who, service="chat", site="local:local1", what="deploy",
            frozen=True)  # fmt: skip

    for verb in (lambda: made.deploy("2"), made.rollback, made.resume, made.abort):
        with pytest.raises(LockHeld, match="frozen by ann"):
            verb()
    assert made.traffic == OLD


def test_whoever_thought_longer_than_a_lease_begins_no_run() -> None:
    made = world()

    def thinks(plan: Plan) -> None:
        made.clock.advance(60)
        acquire(made.memory, made.clock, made.ground().who, service="chat", site="local:local1",
                what="deploy")  # fmt: skip

    wish = Wish(builders.fleet("2"), None)
    with pytest.raises(LockHeld):
        verbs.deploy(made.ground(), wish, thinks)
    assert len(made.ledger.runs) == 1


# 6: unreachable, never empty.


def test_an_unreachable_target_is_never_taken_for_an_empty_one() -> None:
    made = world()
    made.target.down = True

    for verb in (lambda: made.deploy("2"), lambda: made.canary("2"), made.cutover, made.rollback):
        with pytest.raises(Unreachable) as silent:
            verb()
        assert silent.value.exit_code == 6
    assert len(made.ledger.runs) == 1


def test_a_target_that_goes_away_before_anything_changed_is_6() -> None:
    made = world()

    def lost(_: Any) -> dict[str, Any]:
        raise LostAnswer("no answer from the cloud")

    made.stage = lost

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (6, True)
    assert outcome.message.startswith("failed before anything changed: no answer")


# 7: unclear, paused.


@pytest.mark.parametrize("behaviour", ["unclear", "unclear-in-traffic"])
def test_an_unclear_release_is_paused_at_0_percent_and_asked_again(behaviour: Behaviour) -> None:
    made = world(r2=behaviour)

    paused = made.deploy("2", **STEPS)

    assert told(paused)[:2] == (7, True)
    assert paused.message.startswith("unclear, paused before anything more")
    assert "`meshctl resume chat`" in paused.hint and "`meshctl abort chat`" in paused.hint
    assert (made.traffic, set(made.tags.values())) == (OLD, {"2"})

    made.target.behave.clear()
    resumed = made.resume()

    assert resumed.exit_code == 0
    assert made.traffic == NEW


def test_a_first_deploy_that_is_unclear_stays_closed() -> None:
    made = World()
    made.target.behave[builders.release("1", access="public").id] = "unclear"

    outcome = made.deploy("1", access="public")

    assert outcome.exit_code == 7
    assert not made.target.services["chat"].public
    assert made.abort().exit_code == 0
    assert made.traffic == {}


def test_a_canary_that_is_unclear_can_be_verified_by_a_cutover_of_the_willing() -> None:
    made = world(r2="unclear")
    made.canary("2")
    made.target.behave.clear()
    made.target.proved.add(made.revision("2"))

    choice = Choice(revision=made.revision("2"))
    outcome = made.cutover(choice=choice, allow_unverified=True)

    assert outcome.exit_code == 0
    assert made.ledger.unfinished is None


# 8: refused before anything changed.


def test_a_deploy_on_top_of_an_unfinished_run_is_refused() -> None:
    made = world(r2="unclear")
    made.deploy("2")

    with pytest.raises(
        Refused, match=r"run chat\.local:local1\.\S+ \(deploy\) is unfinished"
    ) as refused:
        made.deploy("3")
    assert refused.value.exit_code == 8
    assert refused.value.hint == "`meshctl resume chat` or `meshctl abort chat`"


def test_a_stage_that_fails_changed_nothing_and_claims_no_traffic() -> None:
    made = world()
    made.target.move("chat", **{made.revision("1"): 100})

    def gone(_: Any) -> dict[str, Any]:
        raise Refused("the build is not known any more", hint="build again")

    made.stage = gone

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (8, True)
    assert outcome.message == "failed before anything changed: the build is not known any more"
    assert outcome.hint == "build again"
    assert made.ledger.runs[-1].traffic is None


@pytest.mark.parametrize("verb", ["canary", "cutover", "rollback"])
def test_a_service_that_does_not_exist_is_refused_and_names_deploy(verb: str) -> None:
    made = World()
    asked = {"canary": lambda: made.canary("1"), "cutover": made.cutover, "rollback": made.rollback}

    with pytest.raises(Refused) as refused:
        asked[verb]()
    assert "meshctl deploy chat" in refused.value.hint


def test_a_rollback_without_a_predecessor_leaves_the_unfinished_run_alone() -> None:
    made = world(r2="unclear")
    made.deploy("2")

    with pytest.raises(Refused, match="no earlier release"):
        made.rollback()
    assert made.ledger.unfinished is not None


def test_a_no_to_a_rollback_leaves_the_unfinished_run_alone() -> None:
    made = world("1", "2", r3="unclear")
    made.deploy("3")

    def no(_: Plan) -> None:
        raise Interrupted("not approved")

    with pytest.raises(Interrupted):
        verbs.rollback(made.ground(), made.move, None, no)
    assert made.ledger.unfinished is not None


# 1: an error of ours.


def test_an_error_of_ours_before_any_change_is_1_and_after_it_is_undone() -> None:
    made = world()

    def broken(_: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    made.stage = broken
    early = made.deploy("2")
    made.stage = lambda _: {}
    fails_when(made, lambda act: isinstance(act, ShiftTraffic) and act.to != act.found,
               ZeroDivisionError())  # fmt: skip
    late = made.deploy("2")

    assert early.exit_code == 1
    assert late.exit_code == 3
    assert "internal error: ZeroDivisionError" in late.message
    assert made.traffic == OLD


# 130: interrupted.


def press(made: World, times: int, *, at: float = 0.5) -> None:
    """Ctrl-C during a wait of that many seconds, which is a slice of a bake."""

    def slept(seconds: float) -> None:
        if seconds == at:
            made.interrupts.count = times

    made.whenever_slept = slept


def test_the_first_signal_during_a_bake_undoes_to_what_was_found() -> None:
    made = world()
    press(made, 1)

    outcome = made.deploy("2", **STEPS)

    assert told(outcome)[:2] == (130, True)
    assert outcome.message.startswith("interrupted; what was there before is there again")
    assert (made.traffic, made.tags) == (OLD, {})
    assert made.http.asked[-1] == "chat"


def test_the_second_signal_stops_the_undo_and_says_what_is_left() -> None:
    made = world()
    press(made, 2)

    outcome = made.deploy("2", **STEPS)

    assert told(outcome)[:2] == (4, False)
    assert outcome.message.startswith("interrupted, and the previous state is NOT fully restored")
    assert "04-shift: traffic back to" in outcome.message
    assert outcome.left == ("meshctl resume chat",)
    assert made.traffic == {"1": 95, "2": 5}

    made.interrupts.count = 0
    made.whenever_slept = lambda _: None
    assert made.resume().exit_code == 130
    assert (made.traffic, made.tags) == (OLD, {})


def test_a_second_signal_while_the_old_release_is_asked_does_not_claim_it_was() -> None:
    made = world()
    press(made, 1)
    made.follow = lambda event: setattr(
        made.interrupts, "count", made.interrupts.count + (event.kind == "undone" and
                                                           event.step == "02-place"))  # fmt: skip

    outcome = made.deploy("2", **STEPS)

    assert told(outcome)[:2] == (4, False)
    assert "stopped by a second signal before the previous release was asked" in outcome.message
    assert made.traffic == OLD


def test_a_signal_before_anything_changed_is_130() -> None:
    made = world()
    made.interrupts.count = 1

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (130, True)
    assert made.traffic == OLD


def test_a_signal_between_two_questions_of_a_battery_is_heard() -> None:
    made = world(r2="flaky")
    press(made, 1, at=1.0)

    outcome = made.deploy("2")

    assert told(outcome)[:2] == (130, True)
    assert made.traffic == OLD


def test_an_interrupted_rollback_stays_where_it_is_better() -> None:
    made = world("1", "2", r1="flaky")
    press(made, 1, at=1.0)

    outcome = made.rollback()

    assert told(outcome)[:2] == (4, False)
    assert outcome.message.startswith(f"rolled back to {outcome.to_release}, which was not asked")
    assert made.traffic == OLD


def test_a_signal_before_a_rollback_changed_anything_is_130() -> None:
    made = world("1", "2")
    made.interrupts.count = 1

    outcome = made.rollback()

    assert told(outcome)[:2] == (130, True)
    assert made.traffic == NEW


# What the journal holds.


def test_faults_of_the_platform_on_the_way_forward_are_taken_back() -> None:
    for number in range(1, 5):
        for side in SIDES:
            made = world()
            first = len(made.target.performed)
            fault = Fault(LostAnswer("no answer"), side)
            made.target.faults = {first + number: fault}

            outcome = made.deploy("2", scaling={"min": 1}, **STEPS)

            assert told(outcome)[:2] == (3, True), (number, side, outcome.message)
            assert made.traffic == OLD
            assert made.target.services["chat"].min == 0


def test_every_verdict_stands_in_the_journal_and_in_the_outcome() -> None:
    made = world()

    outcome = made.deploy("2", **STEPS)

    events = made.written(outcome.run)
    verdicts = [Verdict.model_validate(e.data) for e in events if e.kind == "verdict"]
    assert [v.verdict for v in verdicts] == ["pass"] * 3
    assert {e.name.split()[0] for e in outcome.evidence} == {"03-check", "05-check", "07-check"}
