"""gc as a run: under the lock, in the journal, and never over what changed meanwhile."""

from __future__ import annotations

import pytest

from meshctl.errors import LockHeld, Refused, Unreachable
from meshctl.plan.cost import seen_cost
from meshctl.plan.prices import list_prices
from meshctl.plan.stale import Asked, ServiceFound
from meshctl.plan.steps import RetireTag
from meshctl.rollout.gc import look_at_tags, remove_service, sweep_tags
from tests.builders import release
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import Fault

PRICES = list_prices("us-central1")


@pytest.fixture
def world() -> World:
    """Release 1 serves, and a candidate of release 2 failed and was kept."""
    world = World()
    world.serve("1")
    world.target.behave[release("2").id] = "wedged"
    assert world.canary("2", keep=True).exit_code == 3
    return world


def stale(world: World) -> frozenset[tuple[str, str]]:
    _, tags = look_at_tags(world.ground(), PRICES, frozenset())
    return frozenset((one.tag, one.revision) for one in tags if one.stale)


def test_a_run_of_gc_is_journalled_and_leaves_the_service_as_it_was(world: World) -> None:
    before = world.traffic

    swept = sweep_tags(world.ground(), PRICES, stale(world))

    kinds = [event.kind for event in world.written(swept.run)]
    assert kinds == ["opened", "started", "finished", "closed"]
    assert (world.tags, world.traffic, swept.error) == ({}, before, None)
    assert world.ledger.runs[-1].verb == "gc"


def test_gc_tells_its_own_tags_by_the_journal(world: World) -> None:
    world.target.services["chat"].tags["theirs"] = world.revision("2")

    _, tags = look_at_tags(world.ground(), PRICES, frozenset())

    assert {one.tag: one.ours for one in tags if one.tag == "theirs"} == {"theirs": False}
    assert [one.ours for one in tags if one.tag != "theirs"] == [True]


def test_a_run_of_gc_neither_pins_traffic_nor_hides_the_way_back(world: World) -> None:
    known = world.ledger
    sweep_tags(world.ground(), PRICES, stale(world))

    after = world.ledger

    assert (after.last_traffic, after.chain) == (known.last_traffic, known.chain)
    assert world.deploy("3").exit_code == 0


def test_a_run_of_gc_that_died_holds_nobody_up(world: World) -> None:
    approved = stale(world)

    def die(_: object) -> None:
        raise KeyboardInterrupt

    world.target.whenever = die
    with pytest.raises(KeyboardInterrupt):
        sweep_tags(world.ground(), PRICES, approved)
    world.target.whenever = lambda _: None

    assert (world.ledger.runs[-1].state, world.ledger.unfinished) == ("open", None)
    assert sweep_tags(world.ground(), PRICES, stale(world)).gone == {t for t, _ in approved}


def test_a_tag_that_was_given_traffic_after_the_yes_stays(world: World) -> None:
    approved = stale(world)
    world.target.move("chat", **{world.revision("2"): 100})
    world.target.performed.clear()

    swept = sweep_tags(world.ground(), PRICES, approved)

    assert (swept.run, swept.gone) == ("", frozenset())
    assert world.target.performed == []


def test_a_tag_that_was_moved_after_the_yes_stays(world: World) -> None:
    approved = stale(world)
    tag = next(tag for tag, _ in approved)
    world.target.services["chat"].tags[tag] = world.revision("1")

    assert sweep_tags(world.ground(), PRICES, approved).gone == frozenset()


def test_gc_stops_before_somebody_elses_lock(world: World) -> None:
    approved = stale(world)
    theirs, ours = world.ground(), world.ground()

    with theirs.locked("deploy"), pytest.raises(LockHeld):
        sweep_tags(ours, PRICES, approved)

    assert len(world.tags) == 1


def test_what_stops_gc_is_told_and_journalled(world: World) -> None:
    approved = stale(world)
    broken = Unreachable("no route", place="local")
    world.target.faults[len(world.target.performed) + 1] = Fault(broken)

    swept = sweep_tags(world.ground(), PRICES, approved)

    assert (swept.gone, swept.error) == (frozenset(), broken)
    assert world.ledger.runs[-1].exit_code == 6
    assert isinstance(world.target.performed[-1], RetireTag)


def found(world: World) -> ServiceFound:
    seen = world.target.look("chat")
    assert seen is not None
    asked = Asked(since="2026-11-23T00:00:00Z")
    return ServiceFound(seen, seen.revisions[0].template, None, asked, seen_cost(seen, PRICES))


def test_a_service_goes_as_it_was_seen(world: World) -> None:
    swept = remove_service(world.ground(), found(world))

    assert (swept.gone, "chat" in world.target.services) == ({"chat"}, False)


def test_a_service_that_changed_since_it_was_seen_stays(world: World) -> None:
    old = found(world)
    world.target.services["chat"].etag += 1

    swept = remove_service(world.ground(), old)

    assert isinstance(swept.error, Refused)
    assert "chat" in world.target.services
