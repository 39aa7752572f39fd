"""What `state check` finds wrong in a state, and where."""

from __future__ import annotations

import pytest

from meshctl.state.examine import examine
from meshctl.state.journal import Event, Journal
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_ground import World
from tests.fakes.memory_store import MemoryStore

NOW = FakeClock().now()


def served() -> World:
    made = World()
    made.serve("1", "2")
    return made


def wrong(store: MemoryStore) -> list[tuple[str, str]]:
    return [(one.place, one.message) for one in examine(store, NOW).wrong]


def damaged(number: int, data: bytes | None) -> tuple[World, str]:
    """A state with one event changed, or taken away."""
    made = served()
    key = f"runs/{made.ledger.runs[0].run}/{number:06d}.json"
    made.memory.delete(key, made.memory.objects[key].generation)
    if data is not None:
        made.memory.create(key, data)
    return made, key


def test_a_state_that_is_well_has_nothing_wrong() -> None:
    made = served()

    found = examine(made.memory, NOW)

    assert found.wrong == [] and found.locks == []
    assert (found.services, len(found.runs)) == (1, 2)
    assert found.events == len(made.memory.list("runs/"))
    assert found.bytes == sum(len(stored.data) for stored in made.memory.objects.values())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"at": "now", "kind": "dreamed"}', "unknown kind 'dreamed'"),
        (b'{"kind": "started"}', "cannot be read: at"),
        (b"[]", "cannot be read"),
    ],
)
def test_an_event_that_cannot_be_read_is_named_with_why(data: bytes, said: str) -> None:
    made, key = damaged(2, data)

    ((place, message),) = wrong(made.memory)

    assert place == key and said in message


def test_a_gap_is_named() -> None:
    made, key = damaged(2, None)

    assert wrong(made.memory) == [(key.rpartition("/")[0], "events are missing: 2")]


def test_a_run_that_says_another_place_than_its_name_is_named() -> None:
    store = MemoryStore()
    place = {"kind": "cloudrun", "project": "other", "region": "local1"}
    Journal(store, "chat.local:local1.1.s").append(
        Event(at="now", kind="opened", data={"place": place})
    )

    ((_, message),) = wrong(store)

    assert "it was in other:local1" in message


def test_locks_that_bind_are_listed_and_one_that_nobody_can_read_is_wrong() -> None:
    made = served()
    made.memory.create("locks/local:local1/other.json", b"{")

    found = examine(made.memory, NOW)

    assert [(lock.service, lock.state) for lock in found.locks] == [("other", "unreadable")]
    assert "meshctl lock break other" in found.wrong[0].hint


def test_what_an_earlier_meshctl_wrote_is_named_with_the_way_out() -> None:
    store = MemoryStore()
    store.create("locks/gcp/chat.json", b"{}")

    assert "meshctl state migrate" in examine(store, NOW).wrong[0].hint
