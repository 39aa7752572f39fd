"""Who belongs to whom, and what is unwise about it."""

from __future__ import annotations

import pytest

from meshctl.spec.federation import PeerEntry, choose
from meshctl.spec.peers import coordinators_of, family, names_of, unwise
from tests.fakes.fake_federation import fleet


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("qwen3-8b-q4k", "qwen"),
        ("Qwen3-4b", "qwen"),
        ("org/gemma3-4b-it", "gemma"),
        ("mistral-7b", "mistral"),
        ("7b", "7b"),
    ],
)
def test_a_family_is_the_letters_that_a_models_own_name_begins_with(
    model: str, expected: str
) -> None:
    assert family(model) == expected


def test_one_family_on_one_peer_and_models_of_its_own_are_nothing_to_warn_of() -> None:
    of = fleet(peer_a={"models": {"qwen3-8b": {}, "qwen3-4b": {}}, "default_model": "qwen3-8b"})

    assert list(unwise(of)) == []


def test_several_families_and_shared_models_are_named_with_their_place() -> None:
    of = fleet(
        peer_a={"models": {"far": {}, "qwen3": {}}, "default_model": "far"},
        peer_b={"models": {"away": {"aliases": ["far"]}, "near": {}}, "default_model": "near"},
    )

    said = {(found.path, found.message) for found in unwise(of)}

    assert said == {
        ("services.peer-a.models",
         "one peer for several model families (far, qwen) swaps between them"),
        ("services.peer-a.models", "peer-b lists far as well"),
        ("services.peer-b.models",
         "one peer for several model families (away, near) swaps between them"),
        ("services.peer-b.models", "chat answers for near itself and never asks this peer"),
        ("services.peer-b.models", "peer-a lists far as well"),
    }  # fmt: skip


def test_what_plans_refuse_of_a_peer_is_said_by_validate_already() -> None:
    of = fleet(peer_a={"resources": {}, "args": ["serve"]})

    said = [found.path for found in unwise(of)]

    assert said == ["services.peer-a.resources.gpu", "services.peer-a.args"]


def test_a_peer_belongs_to_the_coordinator_it_is_like_or_else_to_any() -> None:
    like, alone = fleet(peer_a={}), fleet(peer_a={"like": None})

    assert coordinators_of(like, "peer-a") == coordinators_of(alone, "peer-a") == ("chat",)
    assert coordinators_of(like, "nobody") == ("chat",)


def test_aliases_are_announced_with_their_models() -> None:
    of = fleet(peer_a={"models": {"far": {"aliases": ["b", "a"]}, "away": {}}})

    assert names_of(of.services["peer-a"]) == ("away", "far", "a", "b")


def test_nobody_is_chosen_where_nobody_lists_a_model() -> None:
    entry = PeerEntry(id="a", base_url="http://a", models=("far",))

    assert (choose("far", [entry]), choose("near", [entry])) == (entry, None)
