"""Who holds a lock, who may take it over, and how the one who lost it finds out."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import Any

import pytest

from meshctl.errors import LockHeld, Refused, Unreachable
from meshctl.outside.who import Who, myself
from meshctl.state.holder import lock_key, read_lock
from meshctl.state.lock import LEASE_S, Lock, acquire, break_lock, kept
from tests.fakes.fake_clock import FakeClock
from tests.fakes.memory_store import MemoryStore

ANN = Who("ann", "far-away", "boot", 7, 7)
BOB = Who("bob", "elsewhere", "boot", 8, 8)


class Place:
    """A store and a clock, and the lock on `chat` in them."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), FakeClock()

    def take(self, who: Who = ANN, **asked: Any) -> Lock:
        given = {"service": "chat", "site": "local:local1", "what": "deploy"} | asked
        return acquire(self.store, self.clock, who, **given)


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_second_one_is_told_everything_it_needs(place: Place) -> None:
    place.take().name_run("chat.local.1")

    with pytest.raises(LockHeld) as held:
        place.take(BOB)

    assert (
        "chat is locked by ann@far-away (pid 7) since 2026-11-30 20:45 UTC, " in held.value.message
    )
    assert "lease until 2026-11-30 20:45:30 UTC: " in held.value.message
    assert "deploy (run chat.local.1)" in held.value.message
    assert "--lock-wait" in held.value.hint


def test_what_is_to_be_typed_names_the_service_as_it_is_typed(place: Place) -> None:
    place.take()
    place.take(service="chat-v2", frozen=True)

    with pytest.raises(LockHeld) as held:
        place.take(BOB, label="talk")
    with pytest.raises(LockHeld) as frozen:
        place.take(BOB, service="chat-v2", label="talk")

    assert "`meshctl abort talk`" in held.value.hint
    assert "`meshctl lock break talk --reason TEXT`" in frozen.value.hint
    assert held.value.message.startswith("talk is locked by ann")


def test_whoever_froze_it_is_told_to_let_it_go_and_anybody_else_to_ask(place: Place) -> None:
    place.take(frozen=True, what="demo")

    with pytest.raises(LockHeld) as own:
        place.take(replace(ANN, pid=99))
    with pytest.raises(LockHeld) as foreign:
        place.take(BOB)

    assert own.value.hint == "you froze it; let it go: `meshctl lock release chat`"
    assert foreign.value.hint == "ask ann, or take it: `meshctl lock break chat --reason TEXT`"


def test_locks_of_two_services_or_targets_do_not_meet(place: Place) -> None:
    place.take()

    assert place.take(BOB, service="other")
    assert place.take(BOB, site="other:local1")


def test_waiting_takes_the_lock_once_the_lease_is_over(place: Place) -> None:
    place.take()

    lock = place.take(BOB, wait_s=60)

    assert lock.holder.person == "bob"
    assert LEASE_S <= sum(place.clock.slept) <= LEASE_S + 0.5


def test_waiting_gives_up_after_its_time(place: Place) -> None:
    place.take()

    with pytest.raises(LockHeld):
        place.take(BOB, wait_s=10)
    assert sum(place.clock.slept) == 10


@pytest.mark.parametrize(
    ("who", "free"),
    [
        (Who("ann", socket.gethostname(), myself().boot, os.getpid(), 1), True),
        (Who("ann", socket.gethostname(), myself().boot, 2**22 + 1, 7), True),
        (Who("ann", socket.gethostname(), "another boot", 2**22 + 1, 7), False),
        (Who("ann", "another host", myself().boot, 2**22 + 1, 7), False),
        (myself(), False),
    ],
)
def test_a_dead_holder_of_this_host_and_boot_is_taken_over_at_once(
    place: Place, who: Who, free: bool
) -> None:
    place.take(who)

    if free:
        assert place.take(BOB).holder.person == "bob"
    else:
        with pytest.raises(LockHeld):
            place.take(BOB)


def test_a_paused_holder_finds_out_before_its_next_write(place: Place) -> None:
    lock = place.take()
    place.clock.advance(LEASE_S + 1)
    place.take(BOB)

    with pytest.raises(LockHeld, match="this run was taken over by bob@elsewhere") as lost:
        lock.assure()
    with pytest.raises(LockHeld):
        lock.assure()
    assert lost.value.hint == "see `meshctl status chat`"
    lock.release()
    assert read_lock(place.store, "chat", "local:local1") is not None


def test_a_paused_holder_that_nobody_missed_goes_on(place: Place) -> None:
    lock = place.take()
    place.clock.advance(LEASE_S * 10)

    lock.assure()

    with pytest.raises(LockHeld):
        place.take(BOB)


def test_a_holder_that_renews_is_never_taken_over(place: Place) -> None:
    lock = place.take()
    for _ in range(10):
        place.clock.advance(10)
        lock.renew()

        with pytest.raises(LockHeld):
            place.take(BOB)


def test_a_rollout_yields_to_whoever_preempts_it_and_the_fence_grows(place: Place) -> None:
    first = place.take()
    first.name_run("chat.local.1")

    second = place.take(BOB, preempt=True, what="rollback")

    assert (first.holder.fence, second.holder.fence) == (1, 2)
    with pytest.raises(LockHeld, match=r"taken over by bob.*: rollback") as lost:
        first.assure()
    assert lost.value.hint == "see `meshctl explain chat.local.1`"


def test_a_freeze_yields_only_to_who_takes_it(place: Place) -> None:
    place.take(frozen=True, what="no deploys before Monday")
    place.clock.advance(LEASE_S * 100)

    with pytest.raises(LockHeld, match="frozen by ann") as held:
        place.take(BOB, preempt=True)
    assert "meshctl lock break chat" in held.value.hint
    assert place.take(BOB, take=True).holder.person == "bob"


@pytest.mark.parametrize("preempt", [False, True])
@pytest.mark.parametrize(
    "damage", [b"", b"{", b"\xff", b"[]", b"[" * 100_000, b'{"person": "ann"}', "until", "zone"]
)
def test_a_lock_that_nobody_can_read_is_held(
    place: Place, damage: bytes | str, preempt: bool
) -> None:
    until = {"until": "soon", "zone": "2026-11-30T20:45:00"}
    if isinstance(damage, str):
        holder = place.take().holder.model_copy(update={"until": until[damage]})
        damage = holder.model_dump_json().encode()
    place.store.objects.pop(lock_key("chat", "local:local1"), None)
    place.store.create(lock_key("chat", "local:local1"), damage)

    with pytest.raises(LockHeld, match="the lock cannot be read") as held:
        place.take(preempt=preempt)
    assert "`meshctl lock break chat --reason TEXT`" in held.value.hint
    assert place.take(take=True).holder.person == "ann"


def test_an_unreadable_lock_can_be_broken(place: Place) -> None:
    place.store.create(lock_key("chat", "local:local1"), b"{")

    break_lock(place.store, place.clock, "chat", "local:local1")

    assert place.take().holder.person == "ann"


def test_a_broken_lock_is_noticed_by_its_holder(place: Place) -> None:
    lock = place.take()

    removed = break_lock(place.store, place.clock, "chat", "local:local1")

    assert removed == lock.holder
    assert break_lock(place.store, place.clock, "chat", "local:local1") is None
    with pytest.raises(LockHeld, match="was taken away"):
        lock.assure()


def test_a_lock_that_changes_hands_is_not_broken(place: Place) -> None:
    place.take()

    class Racing(MemoryStore):
        def replace(self, key: str, data: bytes, generation: str) -> str | None:
            place.take(BOB, preempt=True)
            return super().replace(key, data, generation)

    racing = Racing()
    racing.objects = place.store.objects

    with pytest.raises(Refused, match="changed hands"):
        break_lock(racing, place.clock, "chat", "local:local1")


def test_two_that_find_it_free_do_not_both_get_it(place: Place) -> None:
    class Late(MemoryStore):
        """Between bob's look and bob's write, ann takes it."""

        def create(self, key: str, data: bytes) -> str | None:
            if not self.objects:
                place.take()
            return super().create(key, data)

    late = Late()
    late.objects = place.store.objects
    late._generation = 100

    with pytest.raises(LockHeld):
        acquire(late, place.clock, BOB, service="chat", site="local:local1", what="deploy")


def test_the_fence_grows_over_a_lock_that_was_let_go(place: Place) -> None:
    first = place.take()
    first.release()

    second = place.take(BOB)

    assert (first.holder.fence, second.holder.fence) == (1, 2)


def test_a_lock_that_was_let_go_cannot_be_lost_by_its_next_holder(place: Place) -> None:
    late, stored = place.take(), place.store.objects
    late.release()
    generation = stored[lock_key("chat", "local:local1")].generation
    place.take(BOB)

    late.release()

    assert stored[lock_key("chat", "local:local1")].generation != generation
    assert read_lock(place.store, "chat", "local:local1").person == "bob"  # type: ignore[union-attr]


def test_the_lock_is_given_back_even_when_the_work_failed(place: Place) -> None:
    with pytest.raises(ZeroDivisionError), kept(place.take()):
        raise ZeroDivisionError

    assert read_lock(place.store, "chat", "local:local1") is None


def test_work_that_is_done_is_not_undone_by_a_store_that_went_away(place: Place) -> None:
    with kept(place.take()):
        place.store.down = True

    place.store.down = False
    assert read_lock(place.store, "chat", "local:local1") is not None


def test_nobody_may_write_while_the_store_cannot_be_asked(place: Place) -> None:
    lock = place.take()
    place.store.down = True

    with pytest.raises(Unreachable):
        lock.assure()
