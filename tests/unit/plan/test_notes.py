"""What a plan says beside its steps: what nobody asked, and how a peer comes to be announced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.plan.make import make_deploy
from meshctl.plan.peer import notes_on_peers
from meshctl.plan.request import Request
from meshctl.spec.federation import VARIABLE, PeerEntry, render_peers
from tests import builders
from tests.fakes.fake_federation import fleet

CARD = {"gpu": "nvidia-l4", "cpu": 8, "memory": "32Gi"}
ENTRY = PeerEntry(id="peer-a", base_url="https://peer-a.example", models=("far",))


def not_asked(request: Request, **service: Any) -> list[str]:
    plan = make_deploy(request, builders.seen(**service))
    assert plan.refused == ()
    return [note for note in plan.notes if "not asked yet" in note]


def test_a_release_that_depends_on_nothing_unasked_says_nothing_of_it() -> None:
    assert not_asked(builders.request(take_traffic=True)) == []


def test_a_release_on_a_card_says_what_nobody_asked() -> None:
    request = builders.request(take_traffic=True, resources=CARD)

    assert not_asked(request) == [
        "not asked yet: quota, and so whether old and new fit side by side; boot facts of the "
        "engine"
    ]


@pytest.mark.parametrize("resources", [CARD, {}], ids=["on a card", "without one"])
def test_where_no_release_is_placed_nothing_was_to_be_asked(resources: dict[str, Any]) -> None:
    same = builders.request("1", take_traffic=True, resources=resources)
    release = builders.release("1", of=same.fleet)
    serving = builders.revision("v1", release=release.id, template=release.template)

    plan = make_deploy(same, builders.seen(serving))

    assert plan.empty
    assert not any("not asked yet" in note for note in plan.notes)


def of_peers(key: str, **changed: Any) -> Request:
    return Request(fleet=fleet(), key=key, target="local", salt="s", **changed)


def test_the_env_of_peers_matters_to_who_has_peers() -> None:
    plan = make_deploy(of_peers("chat"), None)

    assert "not asked yet: the env of peers" in plan.notes


def test_a_deploy_of_a_peer_says_how_it_is_announced_and_peer_add_that_this_comes_next() -> None:
    deployed = notes_on_peers(of_peers("peer-a"), None)
    added = notes_on_peers(of_peers("peer-a", announcer="chat"), None)
    announced = notes_on_peers(of_peers("peer-a", peers=render_peers((ENTRY,))), None)

    assert deployed == ("not announced: `meshctl peer add peer-a` does that, and proves it",)
    assert added == ("announced next: chat is rolled out for that by a plan of its own",)
    assert announced == ()


def test_an_announcement_that_nobody_recorded_is_lost_unless_it_is_just_being_recorded() -> None:
    text = render_peers((ENTRY,))
    serving = builders.revision("v1", template=builders.template(env=((VARIABLE, text),)))
    request = of_peers("chat")

    lost = notes_on_peers(request, builders.seen(serving))
    kept = notes_on_peers(replace(request, peers=text), builders.seen(serving))

    assert lost == ("it announces peer-a now, which no journal knows: this takes that away",)
    assert kept == ()
