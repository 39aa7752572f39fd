"""Peers are asked in the declared order, equals in turn, and who failed is left alone a while."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meshctl.mesh.peers import LONGEST_PAUSE_S, Peers
from meshctl.spec.federation import PeerEntry


def peer(id: str, *models: str, priority: int = 0, weight: int = 1) -> PeerEntry:
    return PeerEntry(
        id=id, base_url="http://p", models=models or ("m",), priority=priority, weight=weight
    )


def ids(peers: Peers, model: str = "m", now: float = 0.0) -> list[str]:
    return [peer.id for peer in peers.order(model, now)]


def test_the_lowest_priority_is_asked_first_then_the_highest_weight() -> None:
    peers = Peers((peer("c", priority=1, weight=9), peer("b"), peer("a", weight=5), peer("x", "n")))

    assert ids(peers) == ["a", "b", "c"]


def test_who_takes_any_model_is_asked_after_its_equal_that_names_it() -> None:
    peers = Peers((peer("any", "*"), peer("named")))

    assert ids(peers) == ["named", "any"]
    assert ids(peers, "other") == ["any"]


def test_equals_take_turns() -> None:
    a, b, c = peer("a"), peer("b"), peer("c")
    peers = Peers((a, b, c))
    asked = []

    for _ in range(6):
        first = peers.order("m", 0.0)[0]
        asked.append(first.id)
        with peers.asking(first):
            pass

    assert asked == ["a", "b", "c"] * 2


def test_the_least_busy_of_equals_is_asked_first() -> None:
    a, b = peer("a"), peer("b")
    peers = Peers((a, b))

    with peers.asking(b), peers.asking(a), peers.asking(a):
        busy = ids(peers)

    assert busy == ["b", "a"]


def test_who_failed_comes_last_until_its_pause_is_over_and_the_pauses_grow() -> None:
    a, b = peer("a"), peer("b", priority=1)
    peers = Peers((a, b))

    peers.failed(a, 10.0)
    first_pause = [ids(peers, now=10.5), ids(peers, now=11.0)]
    peers.failed(a, 11.0)

    assert first_pause == [["b", "a"], ["a", "b"]]
    assert [ids(peers, now=12.5)[0], ids(peers, now=13.0)[0]] == ["b", "a"]


def test_one_answer_makes_a_peer_well() -> None:
    a, b = peer("a"), peer("b", priority=1)
    peers = Peers((a, b))
    peers.failed(a, 10.0)

    peers.answered(a)

    assert ids(peers, now=10.0) == ["a", "b"]
    assert peers.up(10.0) == {"a": True, "b": True}


def test_a_beginning_ends_the_pause_but_the_next_one_is_longer_all_the_same() -> None:
    a, b = peer("a"), peer("b", priority=1)
    peers = Peers((a, b))
    peers.failed(a, 10.0)

    peers.began(a)
    begun = ids(peers, now=10.0)
    peers.failed(a, 10.0)

    assert begun == ["a", "b"]
    assert [peers.well(a, now) for now in (11.5, 12.0)] == [False, True]


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=40))
def test_no_pause_is_longer_than_the_longest(times: list[float]) -> None:
    only = peer("a")
    peers = Peers((only,))

    for now in sorted(times):
        peers.failed(only, now)

    assert peers.well(only, max(times) + LONGEST_PAUSE_S)
    assert ids(peers, now=max(times)) == ["a"], "nobody else is left, so it is asked all the same"
