"""A state that an earlier meshctl kept by the names of targets is moved, whole and once."""

from __future__ import annotations

import json

import pytest

from meshctl.errors import LockHeld, Refused
from meshctl.outside.clock import rfc3339
from meshctl.outside.who import Who
from meshctl.state.holder import Holder, read_lock
from meshctl.state.journal import Event, Journal
from meshctl.state.layout import migrate
from meshctl.state.ledger import read_ledger
from meshctl.state.lock import acquire
from tests.fakes.fake_clock import FakeClock
from tests.fakes.memory_store import Died, MemoryStore, MortalStore

OLD = "chat.gcp.20261130T204512345678.7k2m"
NEW = "chat.my-project:us-central1.20261130T204512345678.7k2m"
SITE = "my-project:us-central1"
PLACE = {"kind": "cloudrun", "project": "my-project", "region": "us-central1"}
CLOCK = FakeClock()


def old_state(place: object = PLACE) -> MemoryStore:
    """One closed deploy of `chat` on the target `gcp`."""
    store = MemoryStore()
    journal = Journal(store, OLD)
    opened = {"verb": "deploy", "place": place, "plan": {"name": "chat", "target": "gcp"}}
    for kind, data in (("opened", opened), ("started", {}), ("closed", {"exit_code": 0})):
        journal.append(Event(at="2026-11-30T20:45:12.345678Z", kind=kind, data=data))
    return store


def lock(store: MemoryStore, until: str, *, frozen: bool = False) -> None:
    holder = Holder(
        person="ann", host="far", boot="b", pid=7, pid_start=7, what="audit", run=None,
        since="2026-11-30T20:00:00Z", until=until, frozen=frozen,
    )  # fmt: skip
    store.create("locks/gcp/chat.json", holder.model_dump_json().encode())


def test_runs_are_moved_to_their_project_and_region_as_they_are() -> None:
    store = old_state()
    before = [stored.data for _, stored in sorted(store.objects.items())]

    moved = migrate(store, CLOCK.now())

    assert (moved.runs, moved.events) == ([NEW], 3)
    assert store.list("") == [f"runs/{NEW}/00000{n}.json" for n in (1, 2, 3)]
    assert [stored.data for _, stored in sorted(store.objects.items())] == before
    assert read_ledger(store, "chat", SITE).runs[0].exit_code == 0


def test_a_move_that_dies_anywhere_is_done_again_and_loses_nothing() -> None:
    for when in (f"{side}:{n}" for side in ("before", "after") for n in (1, 2, 3)):
        store = old_state()
        with pytest.raises(Died):
            migrate(MortalStore(store, when), CLOCK.now())

        migrate(store, CLOCK.now())

        assert len(store.list(f"runs/{NEW}/")) == len(store.list("")) == 3, when
        assert migrate(store, CLOCK.now()).runs == []


def test_a_move_that_dies_while_it_removes_is_done_again_and_loses_nothing() -> None:
    class Mortal(MemoryStore):
        left = 0

        def delete(self, key: str, generation: str) -> bool:
            self.left -= 1
            if self.left < 0:
                raise Died
            return super().delete(key, generation)

    for left in range(3):
        store = Mortal()
        store.objects, store.left = old_state().objects, left
        with pytest.raises(Died):
            migrate(store, CLOCK.now())
        store.left = 99

        migrate(store, CLOCK.now())

        assert store.list("") == [f"runs/{NEW}/00000{n}.json" for n in (1, 2, 3)]


def test_what_is_there_already_and_differs_is_not_written_over() -> None:
    store = old_state()
    store.create(f"runs/{NEW}/000002.json", b"{}")

    with pytest.raises(Refused, match="says something else"):
        migrate(store, CLOCK.now())

    assert len(store.list(f"runs/{OLD}/")) == 3


@pytest.mark.parametrize("place", [None, {"kind": "cloudrun"}, "here"])
def test_a_run_that_does_not_say_where_it_was_is_named(place: object) -> None:
    store = old_state(place)

    with pytest.raises(Refused, match=f"run {OLD} does not say") as refused:
        migrate(store, CLOCK.now())

    assert "meshctl state migrate" in refused.value.hint and len(store.objects) == 3


def test_nothing_is_moved_while_somebody_is_at_work() -> None:
    store = old_state()
    lock(store, "2099-01-01T00:00:00Z")

    with pytest.raises(LockHeld, match="ann@far"):
        migrate(store, CLOCK.now())

    assert len(store.list(f"runs/{OLD}/")) == 3


def test_a_freeze_goes_with_its_service_and_a_lease_that_ran_out_goes() -> None:
    frozen, expired = old_state(), old_state()
    lock(frozen, "2026-11-30T20:00:30Z", frozen=True)
    lock(expired, "2026-11-30T20:00:30Z")

    for store in (frozen, expired):
        migrate(store, CLOCK.now())

    holder = read_lock(frozen, "chat", SITE)
    assert holder is not None and holder.frozen and holder.what == "audit"
    assert expired.list("locks/") == []


def test_two_names_for_one_region_share_and_two_projects_never_do() -> None:
    store, who = MemoryStore(), Who("ann", "far", "boot", 7, 7)
    acquire(store, CLOCK, who, service="chat", site=SITE, what="deploy")

    with pytest.raises(LockHeld):
        acquire(store, CLOCK, who, service="chat", site=SITE, what="deploy")
    assert acquire(store, CLOCK, who, service="chat", site="other:us-central1", what="deploy")
    assert json.loads(store.objects[f"locks/{SITE}/chat.json"].data)["until"] > rfc3339(CLOCK.now())
