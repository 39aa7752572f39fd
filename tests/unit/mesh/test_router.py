"""Every name has one answer: here, at one peer, or nobody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meshctl.mesh.router import Local, Peer, Unknown, route, stays_here
from meshctl.spec.federation import PeerEntry
from meshctl.spec.registry import ModelEntry

HERE = (ModelEntry(id="mistral", aliases=("daily",)), ModelEntry(id="small"))


def peer(id: str, *models: str, priority: int = 0, weight: int = 1) -> PeerEntry:
    return PeerEntry(id=id, base_url="http://p", models=models, priority=priority, weight=weight)


def test_a_local_model_or_alias_is_served_here_even_when_a_peer_has_it() -> None:
    peers = (peer("a", "mistral", "daily", "*"),)

    found = [route(name, HERE, peers) for name in ("mistral", "daily")]

    assert found == [Local(HERE[0]), Local(HERE[0])]


def test_the_lowest_priority_wins_then_the_highest_weight_then_the_name() -> None:
    ranked = (
        peer("z", "m", priority=0, weight=5),
        peer("c", "m", priority=0, weight=2),
        peer("d", "m", priority=0, weight=2),
        peer("a", "m", priority=1, weight=9),
    )

    for rest in range(len(ranked)):
        assert route("m", (), tuple(reversed(ranked[rest:]))) == Peer(ranked[rest])


def test_a_peer_that_takes_any_model_gives_way_to_its_equal_that_names_it() -> None:
    any_model, named = peer("a", "*"), peer("b", "m")

    assert route("m", (), (any_model, named)) == Peer(named)
    assert route("other", (), (any_model, named)) == Peer(any_model)


def test_a_lone_node_knows_only_its_own() -> None:
    assert route("other", HERE, ()) == Unknown("other")


peers = st.builds(
    peer,
    st.sampled_from("abc"),
    st.sampled_from(("m", "n", "*")),
    priority=st.integers(0, 2),
    weight=st.integers(1, 2),
)


@given(st.lists(peers, max_size=5, unique_by=lambda peer: peer.id), st.randoms())
def test_the_order_in_which_peers_are_declared_does_not_matter(
    declared: list[PeerEntry], random: st.random_module
) -> None:
    shuffled = list(declared)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert route("m", (), declared) == route("m", (), shuffled)


def test_a_model_that_must_be_loaded_first_goes_to_a_peer_that_is_well() -> None:
    assert not stays_here(resident=False, forwarded=False, peer_is_well=True)
    assert stays_here(resident=True, forwarded=False, peer_is_well=True)
    assert stays_here(resident=False, forwarded=False, peer_is_well=False)


def test_what_a_mesh_sent_here_goes_nowhere_else() -> None:
    assert stays_here(resident=False, forwarded=True, peer_is_well=True)
