"""Where clients are shut out of what the fleet declares public, no success is told to anybody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from meshctl.errors import Refused
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice
from meshctl.rollout.ground import Ground
from meshctl.rollout.verify import verify
from tests.fakes.fake_ground import World, yes


def closed() -> World:
    """Two releases came to serve in the open, and then somebody closed the door."""
    world = World()
    world.serve("1", "2", access="public")
    world.target.services["chat"].public = False
    return world


def declared_public(world: World) -> Ground:
    return replace(world.ground(), public=True)


def test_what_serves_behind_a_closed_door_fails_its_verification() -> None:
    world = closed()

    verdict = verify(declared_public(world), world.move(), Choice(), ())

    assert verdict.verdict == "fail"
    assert verdict.checks[-1].name == "public"
    assert "`meshctl deploy chat` opens it" in verdict.checks[-1].why


def test_the_release_itself_is_not_blamed_for_the_door() -> None:
    world = closed()
    seen = world.revision("2")

    verify(declared_public(world), world.move(), Choice(), ())

    last = world.ledger.runs[-1]
    assert (last.verb, last.revision, last.verdict) == ("verify", seen, "pass")


def test_a_part_of_the_battery_is_told_of_the_door_and_decides_nothing() -> None:
    world = closed()

    verdict = verify(declared_public(world), world.move(), Choice(), ("identity",))

    assert (verdict.verdict, verdict.checks[-1].verdict) == ("pass", "skipped")
    assert "closed to clients" in verdict.checks[-1].why


def test_a_candidate_behind_a_tag_is_no_business_of_clients_yet() -> None:
    world = closed()
    world.canary("3", access="public")

    verdict = verify(declared_public(world), world.move(), Choice(revision=world.revision("3")), ())

    assert verdict.verdict == "pass"


def test_a_service_that_is_declared_private_is_verified_with_our_own_token() -> None:
    world = closed()

    assert verify(world.ground(), world.move(), Choice(), ()).verdict == "pass"


def test_a_rollback_goes_through_and_says_that_no_client_reaches_it() -> None:
    world = closed()

    outcome = verbs.rollback(declared_public(world), world.move, None, yes)

    assert (outcome.exit_code, world.traffic) == (0, {"1": 100})
    assert "closed to clients" in outcome.message
    assert "`meshctl deploy chat` opens it" in outcome.hint


def test_a_rollback_of_what_is_open_says_nothing_of_it() -> None:
    world = closed()
    world.target.services["chat"].public = True

    outcome = verbs.rollback(declared_public(world), world.move, None, yes)

    assert "closed" not in outcome.message


def test_a_cutover_that_could_not_ask_the_public_path_is_refused_before_anything_changed() -> None:
    world = closed()
    world.canary("3", access="public")

    with pytest.raises(Refused, match="closed to clients although"):
        verbs.cutover(declared_public(world), world.move(), Choice(), yes)

    assert world.traffic == {"2": 100}
