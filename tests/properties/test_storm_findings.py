"""What the storm brought to light, each as the right value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.errors import Unreachable
from meshctl.outside.objects import Stored
from meshctl.outside.who import Who
from meshctl.plan.refusals import is_pinned, pinned
from meshctl.plan.steps import ShiftTraffic
from meshctl.state.journal import Event, Journal, read_journal
from meshctl.state.ledger import Ledger
from meshctl.state.lock import acquire
from tests import builders
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import Fault
from tests.fakes.memory_store import MemoryStore

AT = "2026-11-30T20:45:00Z"


class Forgetful(MemoryStore):
    """Loses the answer to every write that `loses` says, after it was done."""

    def __init__(self, loses: Callable[[str], bool]) -> None:
        super().__init__()
        self.loses = loses

    def create(self, key: str, data: bytes) -> str | None:
        return self._answered(key, super().create(key, data))

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        return self._answered(key, super().replace(key, data, generation))

    def _answered(self, key: str, written: str | None) -> str | None:
        if self.loses(key):
            raise Unreachable("the state store does not answer")
        return written


def test_an_event_whose_answer_was_lost_is_not_taken_for_somebody_elses() -> None:
    store = Forgetful(lambda key: key.endswith("000001.json"))
    journal = Journal(store, "run")

    with pytest.raises(Unreachable):
        journal.append(Event(at=AT, kind="opened"))
    journal.append(Event(at=AT, kind="started", step="01-stage"))

    assert [event.kind for event in read_journal(store, "run").events] == ["opened", "started"]
    assert [event.kind for event in journal.events] == ["opened", "started"]


def test_a_lock_whose_renewal_was_never_answered_is_still_ours() -> None:
    lost = [False, True]  # the second write is the renewal
    store = Forgetful(lambda _: lost.pop(0) if lost else False)
    clock = FakeClock()
    who = Who("ann", "host", "boot", 7, 7)
    lock = acquire(store, clock, who, service="chat", site="local:local1", what="deploy")
    clock.advance(15)

    with pytest.raises(Unreachable):
        lock.assure()
    lock.assure()

    assert not lock.lost


def test_a_run_that_is_done_stays_done_when_its_labels_cannot_be_made() -> None:
    world = World()
    world.serve("1")
    world.follow = lambda event: setattr(world.memory, "down", event.kind == "closed")

    outcome = world.deploy("2")

    assert (outcome.exit_code, world.traffic) == (0, {"2": 100})
    assert "could not be written" in outcome.message


def test_without_its_journal_a_run_says_that_traffic_was_moved() -> None:
    world = World()
    world.serve("1")
    shifted = [False]

    def down(act: object) -> None:
        shifted[0] = shifted[0] or isinstance(act, ShiftTraffic)

    world.target.whenever = down
    read = world.memory.read

    def fails(key: str) -> Stored | None:
        world.memory.down = shifted[0]
        return read(key)

    world.memory.read = fails  # type: ignore[method-assign]

    outcome = world.deploy("2")

    assert outcome.exit_code == 4
    assert "NOT fully restored" in outcome.message


def test_restored_means_that_the_split_is_the_one_that_was_found() -> None:
    world = World()
    world.serve("1")
    old = world.revision("1")
    world.target.behave[builders.release("2").id] = "wedged-in-traffic"

    def stranger(act: object) -> None:
        if type(act).__name__ == "RetireTag":  # traffic is back already
            new = world.revision("2")
            world.target.services["chat"].traffic = {old: 99, new: 1}

    world.target.whenever = stranger
    world.target.proved |= {old}

    outcome = world.deploy("2")

    assert (outcome.exit_code, outcome.restored) == (4, False)
    assert "somebody else moved traffic meanwhile" in outcome.message


def test_a_rollback_that_never_moved_traffic_blames_no_stranger() -> None:
    world = World()
    world.serve("1", "2")
    world.target.faults = {len(world.target.performed) + 1: Fault(Unreachable("lost"))}

    back = world.rollback()
    ahead = world.deploy("3")

    assert (back.exit_code, ahead.exit_code) == (4, 0)


def test_either_split_of_a_shift_that_nobody_saw_is_ours() -> None:
    known = Ledger(runs=(builders.ledger_run("v1", traffic={"v1": 100}, or_traffic={"v2": 100}),))

    served = {name: builders.seen(builders.revision(name)) for name in ("v1", "v2", "v3")}

    assert [name for name, seen in served.items() if is_pinned(known, seen)] == ["v3"]


def test_a_run_that_was_taken_over_and_left_is_named_and_no_stranger() -> None:
    run = builders.ledger_run("v2", state="fenced", served=False, traffic=None, exit_code=None)
    before = builders.ledger_run("v1")
    half = builders.split(v1=50, v2=50)
    seen = builders.seen(builders.revision("v2", "2"), builders.revision("v1"), traffic=half)

    request = builders.request("3", ledger=Ledger(runs=(before, run)))
    [reason] = pinned(request, seen)

    assert "was taken over, and nobody took back" in reason.message
    assert "meshctl rollback chat" in reason.hint
