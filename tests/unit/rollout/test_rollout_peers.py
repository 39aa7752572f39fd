"""A peer is announced once it is proved, through the coordinator, and goes out the other way round;
whoever dies on the way is gone on with."""

from __future__ import annotations

import functools
from contextlib import suppress

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.outside.objects import Stored
from meshctl.plan.make import make_deploy
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.verify import verify
from meshctl.rollout.wish import request_of
from tests.fakes.fake_federation import Federation, fleet
from tests.fakes.memory_store import Died, MortalStore


@pytest.fixture
def world() -> Federation:
    """The coordinator serves, the peer is only declared."""
    made = Federation()
    assert made.deploy("chat").exit_code == 0
    return made


def kinds(outcome: Outcome) -> list[str]:
    return [step.kind for step in outcome.steps]


def test_a_peer_is_placed_proved_on_the_tag_and_proved_again_in_traffic(world: Federation) -> None:
    added = world.add()

    assert (added.verb, added.exit_code) == ("peer-add", 0)
    assert world.recorded == world.live == ["peer-a"]
    proofs = [one for one in added.evidence if "peer peer-a" in one.name]
    assert [one.verdict for one in proofs] == ["pass", "pass"]
    assert [one.name.partition(" ")[0] for one in proofs] == ["04-check", "09-check"]
    assert world.tags == {}


def test_a_peer_that_is_announced_already_makes_no_run_and_is_not_asked(world: Federation) -> None:
    world.add()
    asked, runs = len(world.http.asked), len(world.ledger().runs)

    again = world.add()

    assert (again.run, again.exit_code) == ("", 0)
    assert again.message == "peer-a is announced and was proved"
    assert (len(world.http.asked), len(world.ledger().runs)) == (asked, runs)


def test_a_later_deploy_keeps_the_announcement(world: Federation) -> None:
    world.add()
    assert world.deploy("chat").run == ""
    world.fleet = fleet({"env": {"COLOUR": "blue"}})

    assert world.deploy("chat").exit_code == 0

    assert world.live == ["peer-a"]


def test_deploying_a_peer_announces_nothing_and_says_who_does(world: Federation) -> None:
    plan = make_deploy(request_of(world.ground("peer-a"), world.wish), None)

    world.deploy("peer-a")

    assert "not announced: `meshctl peer add peer-a` does that, and proves it" in plan.notes
    assert world.recorded == world.live == []


def test_a_peer_that_is_good_alone_and_silent_through_the_coordinator_is_not_announced(
    world: Federation,
) -> None:
    before = world.target.services["chat"].named()
    world.http.closed = {"peer-a"}

    added = world.add()

    assert (added.exit_code, added.restored) == (3, True)
    assert "gcloud run services add-iam-policy-binding peer-a" in added.message
    assert "serviceAccount:$(gcloud projects describe local" in added.message
    assert world.recorded == world.live == []
    assert world.target.services["chat"].named() == before
    assert [step.status for step in added.steps[4:]] == ["pending"] * 6


def test_a_peer_whose_models_the_coordinator_owns_is_refused_before_it_is_placed() -> None:
    world = Federation(fleet({"models": {"near": {}, "far": {}}, "default_model": "near"}))
    world.deploy("chat")

    with pytest.raises(Refused, match="no request would ever reach peer-a"):
        world.add()

    assert "peer-a" not in world.target.services


def test_a_peer_without_models_has_nothing_to_announce() -> None:
    world = Federation(fleet(peer_a={"models": {}}))
    world.deploy("chat")

    with pytest.raises(Refused, match="peer-a declares no models"):
        world.add()


def test_a_peer_of_a_coordinator_that_is_not_there_is_refused_before_it_is_placed() -> None:
    world = Federation()

    with pytest.raises(Refused, match="chat does not exist on local"):
        world.add()

    assert world.target.services == {}


def test_a_peer_whose_latest_verdict_is_no_pass_is_asked_again_first(world: Federation) -> None:
    world.deploy("peer-a")
    seen = world.target.look("peer-a")
    assert seen and seen.main
    world.target.behave[seen.main.release] = "wedged"
    ground = world.ground("peer-a")
    assert verify(ground, world.move(ground), Choice(), ()).verdict == "fail"

    with pytest.raises(Refused, match="did not pass, so it is not announced"):
        world.add()
    world.target.behave.clear()

    assert world.add().exit_code == 0


def test_a_peer_goes_out_and_its_service_stays(world: Federation) -> None:
    world.add()

    removed = world.remove()

    assert (removed.verb, removed.exit_code) == ("peer-remove", 0)
    assert world.recorded == world.live == []
    assert "peer-a" in world.target.services
    assert world.remove().run == ""


def test_a_peer_that_is_declared_no_more_can_be_taken_out_twice_and_a_typo_cannot(
    world: Federation,
) -> None:
    world.add()
    world.fleet = fleet(peer_b={"models": {"away": {}}})

    outcomes = [world.remove("peer-a"), world.remove("peer-a")]

    assert [one.exit_code for one in outcomes] == [0, 0]
    with pytest.raises(UsageError, match="no peer named 'peer-x'"):
        world.remove("peer-x")


def test_a_second_peer_leaves_the_first_one_as_it_is() -> None:
    world = Federation(fleet(peer_a={}, peer_b={"models": {"away": {}}}))
    world.deploy("chat")
    world.add("peer-a")

    second = world.add("peer-b")
    world.remove("peer-a")

    assert [one.name for one in second.evidence if "peer " in one.name] == [
        "04-check peer peer-b", "09-check peer peer-b",
    ]  # fmt: skip
    assert world.live == world.recorded == ["peer-b"]


def test_of_two_peers_for_one_model_the_one_that_is_never_asked_is_refused() -> None:
    world = Federation(fleet(peer_a={}, peer_b={"priority": 1}))
    world.deploy("chat")
    world.add("peer-a")

    with pytest.raises(Refused, match="no request would ever reach peer-b"):
        world.add("peer-b")


def test_sync_announces_what_is_proved_and_keeps_what_failed_later(world: Federation) -> None:
    world.fleet = fleet(peer_a={}, peer_b={"models": {"away": {}}})
    world.add("peer-a")
    seen = world.target.look("peer-a")
    assert seen and seen.main
    world.target.behave[seen.main.release] = "wedged"
    ground = world.ground("peer-a")
    verify(ground, world.move(ground), Choice(), ())
    world.deploy("peer-b")

    outcome, skipped = world.sync("peer-a", "peer-b")

    assert outcome.exit_code == 0
    assert world.live == ["peer-a", "peer-b"]
    assert skipped == (
        "peer-a is not proved and stays announced as it was: `meshctl peer add peer-a`",
    )


def test_sync_takes_out_what_is_declared_no_more_and_brings_a_new_priority(
    world: Federation,
) -> None:
    world.fleet = fleet(peer_a={}, peer_b={"models": {"away": {}}})
    world.add("peer-a")
    world.add("peer-b")
    world.fleet = fleet(peer_b={"models": {"away": {}}, "priority": 7})

    outcome, _ = world.sync("peer-b")

    assert outcome.verb == "peer-sync"
    assert world.recorded == world.live == ["peer-b"]
    assert ["priority 7" in change.after for change in outcome.changes if change.after] == [True]


def test_a_rollback_takes_the_announcement_back_and_a_deploy_brings_it_again(
    world: Federation,
) -> None:
    world.add()
    ground = world.ground("chat")
    verbs.rollback(ground, lambda: world.move(ground), None, world.yes)
    assert (world.live, world.recorded) == ([], ["peer-a"])

    assert world.add().exit_code == 0

    assert world.live == ["peer-a"]


def test_a_removal_of_what_a_rollback_took_back_is_recorded_all_the_same(world: Federation) -> None:
    world.add()
    ground = world.ground("chat")
    verbs.rollback(ground, lambda: world.move(ground), None, world.yes)

    removed = world.remove()

    assert (removed.exit_code, kinds(removed)) == (0, ["check"])
    assert world.recorded == world.live == []


def die(world: Federation, when: str, act: str) -> bool:
    """Whether the process died at that write; one that lives has ended well."""
    world.store = MortalStore(world.memory, when)
    try:
        assert getattr(world, act)().exit_code == 0
    except Died:
        return True
    finally:
        world.store = world.memory
    return False


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_addition_that_dies_anywhere_is_gone_on_with_by_saying_it_again(side: str) -> None:
    number, died = 1, True
    while died:
        world = Federation()
        world.deploy("chat")
        died = die(world, f"{side}:{number}", "add")

        again = world.add()

        assert again.exit_code == 0, (number, again)
        assert world.recorded == world.live == ["peer-a"]
        assert world.tags == {}
        assert world.ledger().unfinished is None is world.ledger("peer-a").unfinished
        number += 1
    assert number > 25


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_removal_that_dies_anywhere_is_gone_on_with_by_saying_it_again(side: str) -> None:
    number, died = 1, True
    while died:
        world = Federation()
        world.deploy("chat")
        world.add()
        died = die(world, f"{side}:{number}", "remove")

        assert world.remove().exit_code == 0

        assert world.recorded == world.live == []
        assert world.ledger().unfinished is None
        number += 1
    assert number > 15


def test_resume_of_the_coordinator_and_of_the_peer_go_on_just_as_well() -> None:
    number, died, resumed = 1, True, set()
    while died:
        world = Federation()
        world.deploy("chat")
        died = die(world, f"after:{number}", "add")
        for key in ("peer-a", "chat"):
            with suppress(Refused):  # nothing is unfinished there
                assert verbs.resume(world.ground(key)).exit_code == 0
                resumed.add(key)

        assert world.add().exit_code == 0

        assert world.recorded == world.live == ["peer-a"]
        number += 1
    assert resumed == {"peer-a", "chat"}


def test_an_abort_of_an_addition_announces_nothing() -> None:
    world = Federation()
    world.deploy("chat")
    assert die(world, "after:22", "add")
    assert world.ledger().unfinished is not None

    aborted = verbs.abort(world.ground("chat"), world.yes)

    assert aborted.exit_code == 0
    assert world.recorded == world.live == []


def test_a_rollback_in_the_middle_of_an_addition_goes_to_what_served_before_it() -> None:
    for number in range(14, 20):
        world = Federation()
        world.deploy("chat")
        before = world.target.services["chat"].named()
        assert die(world, f"after:{number}", "add")

        ground = world.ground("chat")
        with suppress(Refused):  # it had not moved anything yet, so there is nowhere to go
            verbs.rollback(ground, functools.partial(world.move, ground), None, world.yes)

        assert world.target.services["chat"].named() == before, number
        assert world.recorded == []


def test_a_coordinator_that_cannot_be_rolled_out_is_refused_before_the_peer_is_placed(
    world: Federation,
) -> None:
    world.fleet = fleet({"env": {"COLOUR": "blue"}})
    world.deploy("chat")
    first, second = (revision.name for revision in world.target.services["chat"].revisions)
    world.target.move("chat", **{first: 40, second: 60})

    with pytest.raises(Refused, match="pinned by a stranger"):
        world.add()

    assert "peer-a" not in world.target.services


def test_an_announcement_in_the_journal_that_nobody_can_read_is_not_written_over(
    world: Federation,
) -> None:
    world.add()
    for key, stored in list(world.memory.objects.items()):
        text = stored.data.decode().replace('"peers":"[', '"peers":"[[')
        world.memory.objects[key] = Stored(text.encode(), stored.generation)

    with pytest.raises(Refused, match="what chat announces cannot be read"):
        world.remove()
