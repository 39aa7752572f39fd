"""What was judged once is not forgotten, not handed on, and not claimed against what is seen."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from meshctl.errors import Refused, Unreachable
from meshctl.outside.clock import rfc3339
from meshctl.plan.steps import Remember, RetireTag
from meshctl.rollout.choice import Choice
from meshctl.rollout.verify import verify
from meshctl.state.evidence import Evidence
from meshctl.state.journal import Event, Journal, next_at
from tests import builders
from tests.fakes.fake_clock import START
from tests.fakes.fake_ground import World

BY_NAME = Choice


def served(*versions: str) -> World:
    made = World()
    made.serve(*versions)
    return made


def cut_over(made: World, version: str) -> Choice:
    return BY_NAME(revision=made.revision(version))


def test_an_unclear_cutover_that_is_aborted_does_not_leave_the_older_pass() -> None:
    made = served("1")
    made.canary("2")
    made.target.behave[builders.release("2").id] = "unclear-in-traffic"
    assert made.cutover(choice=cut_over(made, "2")).exit_code == 7

    assert made.abort().exit_code == 0

    with pytest.raises(Refused, match="its latest verdict is unclear"):
        made.cutover(choice=cut_over(made, "2"))
    assert made.traffic == {"1": 100}


def test_a_failed_cutover_whose_process_died_still_counts_after_a_rollback_took_it_over() -> None:
    made = served("1")
    made.canary("2")
    made.target.behave[builders.release("2").id] = "wedged-in-traffic"
    died = _die_after_the_failure(made)

    made.rollback()

    assert died
    with pytest.raises(Refused, match="its latest verdict is fail"):
        made.cutover(choice=cut_over(made, "2"))


def _die_after_the_failure(made: World) -> bool:
    """The process is gone right after it recorded that the cutover failed."""

    class Gone(BaseException):
        pass

    def die(event: Event) -> None:
        if event.kind == "failed":
            raise Gone

    made.follow = die
    with pytest.raises(Gone):
        made.cutover(choice=cut_over(made, "2"))
    made.follow = lambda _: None
    return True


def test_a_revision_that_came_back_with_another_template_has_no_verdict() -> None:
    made = served("1")
    made.canary("2")
    name = made.revision("2")
    other = builders.revision(name, "3")
    chat = made.target.services["chat"]
    chat.revisions = [other if r.name == name else r for r in chat.revisions]

    with pytest.raises(Refused, match="it was never verified"):
        made.cutover(choice=BY_NAME(revision=name))


def test_a_verify_during_which_traffic_moved_is_unclear_and_proves_nobody() -> None:
    made = served("1", "2")
    ground = made.ground()
    one = made.revision("1")

    def move(_: Evidence) -> None:
        made.target.move("chat", **{one: 100})

    verdict = verify(replace(ground, note=move), made.move(), BY_NAME(), ())

    assert verdict.verdict == "unclear"
    assert "moved while it was asked" in verdict.why
    assert made.ledger.runs[-1].verb != "verify"


def test_a_release_whose_traffic_a_stranger_took_is_no_success() -> None:
    made = served("1")
    one = made.revision("1")

    def steal(act: object) -> None:
        if isinstance(act, RetireTag):
            made.target.move("chat", **{one: 100})

    made.target.whenever = steal
    outcome = made.deploy("2")

    assert (outcome.exit_code, outcome.traffic) == (4, {one: 100})
    assert "moved by somebody else" in outcome.message
    assert [run.release for run in made.ledger.chain] == [builders.release("1").id]


def test_a_file_that_is_no_event_hides_no_run() -> None:
    made = served("1")
    made.target.behave[builders.release("2").id] = "unclear"
    paused = made.deploy("2")

    made.memory.create(f"runs/{paused.run}/000003 (copy).json", b"{}")

    with pytest.raises(Refused, match="unfinished"):
        made.deploy("3")


def test_a_run_that_lacks_an_event_is_not_passed_over() -> None:
    made = served("1")
    run = made.ledger.runs[-1].run
    stored = made.memory.read(f"runs/{run}/000003.json")
    assert stored is not None

    made.memory.delete(f"runs/{run}/000003.json", stored.generation)

    with pytest.raises(Refused, match="cannot be read, so whether it is finished is unknown"):
        made.deploy("2")


def test_a_later_run_comes_later_though_the_clock_went_back() -> None:
    made = served("1")
    newest = made.ledger.runs[-1]

    at = next_at(made.memory, "chat", "local:local1", START - datetime.timedelta(hours=2))

    assert at > newest.at
    assert next_at(made.memory, "chat", "gcp", START) == rfc3339(START)


def test_a_verify_that_died_holds_nobody_up() -> None:
    made = served("1")
    run = "chat.local:local1.20261130T235900000000.s999"
    opened = Event(at="2026-11-30T23:59:00.000000Z", kind="opened", data={"verb": "verify"})
    Journal(made.memory, run).append(opened)

    assert made.deploy("2").exit_code == 0


def test_who_lost_the_race_for_a_first_deploy_has_nothing_left_to_undo() -> None:
    made, other = World(), World()
    other.target.services = made.target.services

    def overtake(act: object) -> None:
        made.target.whenever = lambda _: None
        if not made.target.services:
            other.deploy("1")

    made.target.whenever = overtake
    outcome = made.deploy("2")

    assert outcome.exit_code in (3, 8)
    assert made.ledger.unfinished is None
    assert made.traffic == {"1": 100}


def damage(made: World, run: str, number: int = 1) -> None:
    """Somebody wrote over an event of a run."""
    key = f"runs/{run}/{number:06d}.json"
    stored = made.memory.read(key)
    assert stored is not None
    made.memory.replace(key, b'{"at": 1}', stored.generation)


def test_a_damaged_run_refuses_whatever_goes_forward_and_not_the_rollback() -> None:
    made = served("1", "2")
    one = made.revision("1")
    damage(made, made.ledger.runs[-1].run)

    for forward in (lambda: made.deploy("3"), lambda: made.cutover(choice=BY_NAME(revision=one))):
        with pytest.raises(Refused, match="cannot be read"):
            forward()
    back = made.rollback()

    assert (back.exit_code, made.traffic) == (0, {"1": 100})
    assert "known by the labels on the service" in back.message


def test_after_a_rollback_past_a_damaged_run_a_deploy_is_possible_again() -> None:
    made = served("1", "2")
    damage(made, made.ledger.runs[-1].run)
    made.rollback()

    assert made.deploy("3").exit_code == 0


def test_a_damaged_run_can_neither_be_resumed_nor_aborted() -> None:
    made = served("1")
    made.target.behave[builders.release("2").id] = "unclear"
    damage(made, made.deploy("2").run, 2)
    damage(made, made.ledger.runs[-1].run, 1)

    for verb in (made.resume, made.abort):
        with pytest.raises(Refused, match="cannot be read"):
            verb()


def test_with_no_journal_at_all_a_rollback_goes_by_the_labels() -> None:
    made = served("1", "2", "3")
    made.rollback()
    for key in made.memory.list("runs/"):
        stored = made.memory.read(key)
        assert stored is not None
        made.memory.delete(key, stored.generation)

    back = made.rollback()

    assert (back.exit_code, made.traffic) == (0, {"1": 100})


def test_labels_that_cannot_be_written_do_not_spoil_a_deploy() -> None:
    made = served("1")

    def refuse(act: object) -> None:
        if isinstance(act, Remember):
            raise Unreachable("no route to host")

    made.target.whenever = refuse
    outcome = made.deploy("2")

    assert (outcome.exit_code, made.traffic) == (0, {"2": 100})
    assert "labels on the service could not be written" in outcome.message
