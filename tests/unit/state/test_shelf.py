"""A ledger of many runs is read in one go, and says the same as when it is read run by run."""

from __future__ import annotations

import json

import pytest

from meshctl.outside.objects import Stored
from meshctl.state.journal import Event, Journal, run_name
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.shelf import FEW, shelve
from tests.fakes.memory_store import MemoryStore

SITE = "local:local1"
KEY = f"shelves/{SITE}/chat.json"


class Counted(MemoryStore):
    """Counts what is read."""

    reads = 0

    def read(self, key: str) -> Stored | None:
        self.reads += 1
        return super().read(key)


def run(store: MemoryStore, number: int, last: str = "closed") -> str:
    at = f"2026-11-30T20:45:{number // 10:02d}.{number % 10}00000Z"
    journal = Journal(store, run_name("chat", SITE, at, "salt"))
    journal.append(Event(at=at, kind="opened", data={"verb": "deploy", "revision": f"v{number}"}))
    if last:
        data = {"exit_code": 0, "verdict": "pass", "served": True, "release": f"r{number}"}
        journal.append(Event(at=at, kind=last, data=data))
    return journal.run


def many(count: int = 3 * FEW) -> Counted:
    store = Counted()
    for number in range(count):
        run(store, number)
    return store


def cost(store: Counted) -> tuple[int, Ledger]:
    store.reads = 0
    found = read_ledger(store, "chat", SITE)
    return store.reads, found


def test_a_shelf_saves_the_reads_and_changes_no_answer() -> None:
    store = many()
    before, found = cost(store)

    shelve(store, "chat", SITE, found)

    after, again = cost(store)
    assert (before, after) == (1 + 6 * FEW, 1)
    assert again == found and len(again.chain) == 3 * FEW


def test_what_came_since_is_read_and_what_goes_on_is_never_shelved() -> None:
    store = many()
    going_on = run(store, 500, last="")
    shelve(store, "chat", SITE, read_ledger(store, "chat", SITE))
    Journal(store, going_on, (Event(at="", kind="opened"),)).append(Event(at="", kind="paused"))
    newest = run(store, 501)

    reads, found = cost(store)

    assert [one.state for one in found.runs[-2:]] == ["paused", "closed"]
    assert (reads, found.runs[-1].run) == (1 + 4, newest)


def test_a_run_that_has_other_events_than_were_summed_up_is_read_again() -> None:
    store = many()
    shelve(store, "chat", SITE, read_ledger(store, "chat", SITE))
    last = store.list("runs/")[-1]
    store.delete(last, store.objects[last].generation)

    _, found = cost(store)

    assert found.runs[-1].state == "open"


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"fields": ["run"], "runs": {}}'])
def test_a_shelf_that_says_nothing_is_left_aside_and_written_anew(damage: bytes) -> None:
    store = many()
    found = read_ledger(store, "chat", SITE)
    store.create(KEY, damage)

    assert read_ledger(store, "chat", SITE) == found
    shelve(store, "chat", SITE, found)
    assert len(json.loads(store.objects[KEY].data)["runs"]) == 3 * FEW


def test_few_runs_are_not_shelved() -> None:
    store = many(FEW)

    shelve(store, "chat", SITE, read_ledger(store, "chat", SITE))

    assert KEY not in store.objects


def test_a_store_that_takes_no_shelf_hinders_nobody() -> None:
    store = many()
    found = read_ledger(store, "chat", SITE)
    store.down = True

    shelve(store, "chat", SITE, found)
