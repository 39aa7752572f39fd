"""What is wrong with a peer is said, each thing once, with what to type; nobody is asked."""

from __future__ import annotations

from meshctl.observe.peers import Look, Peer, peers_of
from meshctl.plan.peer import entry_of
from meshctl.plan.peers import Announcing, make_announcement
from meshctl.rollout.wish import request_of
from meshctl.spec.federation import render_peers
from meshctl.state.peers import Announced, announced, read_announced
from meshctl.ui.federation import PeerRow, Peers
from meshctl.ui.render import render
from tests.fakes.fake_federation import Federation, fleet


def added() -> Federation:
    world = Federation()
    world.deploy("chat")
    world.add()
    return world


def listed(
    world: Federation, known: Announced | None = None, own: Look | None = None
) -> tuple[Peer, ...]:
    looks = {key: Look(world.target.look(key), world.ledger(key)) for key in world.fleet.services}
    said = known or announced(world.ledger())
    return peers_of(world.fleet, "chat", own or looks["chat"], said, looks)


def test_a_peer_that_is_as_it_should_be_has_no_drift() -> None:
    [row] = listed(added())

    assert (row.announced, row.recorded, row.verdict, row.drift) == (True, True, "pass", ())
    assert (row.models, row.url, row.min_instances) == (("far",), "http://peer-a.fake", 0)


def test_a_peer_that_is_only_declared_is_not_announced_and_that_is_no_drift() -> None:
    world = Federation()
    world.deploy("chat")

    [row] = listed(world)

    assert (row.announced, row.recorded, row.verdict, row.drift) == (False, False, None, ())


def test_what_the_journal_says_and_the_coordinator_does_not_is_drift() -> None:
    world = added()

    [row] = listed(world, own=Look(None))

    assert row.announced is False
    assert row.drift == (
        "the release of chat that serves announces it not at all: `meshctl deploy chat`",
    )


def test_who_is_announced_by_a_stranger_is_named_with_the_way_to_prove_it() -> None:
    [row] = listed(added(), known=Announced())

    assert row.drift == (
        "announced by somebody else: `meshctl peer add peer-a` proves and records it",
    )


def test_who_is_announced_and_not_declared_is_shown_below_the_others() -> None:
    world = added()
    world.fleet = fleet(peer_b={"models": {"away": {}}})

    rows = listed(world)

    assert [(row.name, row.declared) for row in rows] == [("peer-b", True), ("peer-a", False)]
    assert rows[1].drift == ("the fleet file does not declare it: `meshctl peer remove peer-a`",)


def test_an_entry_that_is_not_as_declared_is_told_key_by_key() -> None:
    world = added()
    world.fleet = fleet(peer_a={"weight": 9, "models": {"far": {"aliases": ["further"]}}})

    [row] = listed(world)

    assert row.drift == (
        "models far -> far, further: `meshctl peer sync`",
        "weight 1 -> 9: `meshctl peer sync`",
    )


def test_an_announced_peer_without_a_service_and_an_unseen_target_are_two_things() -> None:
    world = added()
    unseen = listed(world, own=Look(unknown="no route to host"))
    del world.target.services["peer-a"]

    [gone] = listed(world)

    assert gone.drift == ("its service does not exist: `meshctl peer add peer-a` places it",)
    assert (unseen[0].announced, unseen[0].unseen) == (None, True)
    assert unseen[0].drift == ("not observed: no route to host",)


def test_a_table_of_peers_fits_80_columns() -> None:
    world = added()
    world.fleet = fleet(peer_a={"priority": 7})
    rows = tuple(PeerRow(**row.model_dump()) for row in listed(world))

    lines = render(Peers(peers=rows, notes=("peer-b is not proved and is not announced",)))

    assert lines[1].split() == ["PEER", "OF", "ANNOUNCED", "VERDICT", "MIN", "PRIORITY", "WEIGHT"]
    assert lines[2].split() == ["peer-a", "chat", "yes", "✓", "pass", "0", "7", "1"]
    assert max(map(len, lines)) <= 80


def test_a_plan_shows_who_is_announced_as_keys_of_their_own() -> None:
    world = added()
    entry = entry_of("b", world.fleet.services["peer-a"], "http://b.fake")
    request = request_of(world.ground("chat"), world.wish)
    said = Announcing("peer-sync", render_peers([entry]))

    plan = make_announcement(request, world.target.look("chat"), said)

    assert plan.peers == said.text
    assert [change.path for change in plan.changes] == ["peers.b", "peers.peer-a"]
    assert read_announced(said.text).entry("b") == entry
