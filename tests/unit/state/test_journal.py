"""The journal: numbered, created once, and enough to go on from."""

from __future__ import annotations

import pytest

from meshctl.errors import LockHeld, MeshctlError
from meshctl.state.journal import (
    Event,
    EventKind,
    Fenced,
    Journal,
    all_runs,
    read_journal,
    run_name,
    runs_of,
)
from tests.fakes.memory_store import MemoryStore

AT = "2026-11-30T20:45:12.345678Z"
SITE = "local:local1"


def event(kind: EventKind, step: str | None = None) -> Event:
    return Event(at=AT, kind=kind, step=step)


def test_events_are_numbered_and_read_back_in_order() -> None:
    store, seen = MemoryStore(), list[Event]()
    journal = Journal(store, "run", follow=seen.append)
    journal.append(event("opened"))
    journal.append(event("started", "01-stage"))

    assert store.list("runs/") == ["runs/run/000001.json", "runs/run/000002.json"]
    assert read_journal(store, "run").events == journal.events == seen


def test_whoever_finds_the_next_number_taken_is_fenced_and_writes_nothing() -> None:
    store = MemoryStore()
    old = Journal(store, "run")
    old.append(event("opened"))
    new = read_journal(store, "run")
    new.append(event("fenced"))

    with pytest.raises(Fenced) as fenced:
        old.append(event("finished", "01-stage"))

    assert isinstance(fenced.value, LockHeld)
    assert [e.kind for e in read_journal(store, "run").events] == ["opened", "fenced"]
    assert [e.kind for e in old.events] == ["opened"]


def test_followers_hear_only_of_what_is_safe() -> None:
    store, seen = MemoryStore(), list[Event]()
    store.create("runs/run/000001.json", b"taken")

    with pytest.raises(Fenced):
        Journal(store, "run", follow=seen.append).append(event("opened"))
    assert seen == []


def test_a_step_is_finished_until_it_is_undone() -> None:
    journal = Journal(MemoryStore(), "run")
    for kind, step in (("started", "a"), ("finished", "a"), ("started", "b"), ("finished", "b")):
        journal.append(event(kind, step))  # type: ignore[arg-type]
    assert journal.finished == {"a", "b"}

    journal.append(event("undone", "b"))

    assert journal.finished == {"a"}


def test_an_event_that_was_changed_from_outside_is_named() -> None:
    store = MemoryStore()
    store.create("runs/run/000001.json", b'{"at": 1}')

    with pytest.raises(MeshctlError) as failed:
        read_journal(store, "run")
    assert failed.value.place == "runs/run/000001.json"


def test_names_of_runs_sort_by_time_within_a_second() -> None:
    store = MemoryStore()
    early, late = "2026-11-30T20:45:12.000001Z", "2026-11-30T20:45:12.000002Z"
    runs = [run_name("chat", SITE, early, "zzzz"), run_name("chat", SITE, late, "aaaa")]
    for run in runs:
        Journal(store, run).append(event("opened"))

    assert runs[0] == "chat.local:local1.20261130T204512000001.zzzz"
    assert runs_of(store, "chat", SITE) == all_runs(store) == runs


def test_runs_of_one_site_leave_out_sites_and_services_that_begin_alike() -> None:
    store = MemoryStore()
    mine, *others = (
        run_name(service, site, AT, "salt")
        for service, site in (
            ("chat", "p:a"),
            ("chat", "p:ab"),
            ("chat-b", "p:a"),
            ("chat", "q.p:a"),
        )
    )
    for run in (mine, *others):
        Journal(store, run).append(event("opened"))

    assert runs_of(store, "chat", "p:a") == [mine]
    assert len(runs_of(store, "chat")) == 3
