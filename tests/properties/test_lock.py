"""The lock: one holder at a time, however time passes and whoever dies; the fence only grows."""

from __future__ import annotations

import dataclasses

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from meshctl.errors import LockHeld
from meshctl.outside.who import Who
from meshctl.state.holder import read_lock
from meshctl.state.lock import LEASE_S, Lock, acquire
from tests.fakes.fake_clock import FakeClock
from tests.fakes.memory_store import MemoryStore

PEOPLE = ("ann", "bob", "eve")


class OneLock(RuleBasedStateMachine):
    """Three processes on three hosts want one service; each may pause for any time."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.clock = MemoryStore(), FakeClock()
        self.held: dict[str, Lock] = {}
        self.fence = 0

    @rule(person=st.sampled_from(PEOPLE), preempt=st.booleans(), frozen=st.booleans())
    def takes(self, person: str, preempt: bool, frozen: bool) -> None:
        who = Who(person, f"host-{person}", "boot", 7, 7)
        bound = self.bound()
        try:
            lock = acquire(self.store, self.clock, who, service="chat", site="local:local1",
                           what="deploy", preempt=preempt, frozen=frozen)  # fmt: skip
        except LockHeld:
            assert bound is not None
            return
        holder = bound.holder if bound else None
        assert holder is None or (preempt and not holder.frozen), "taken from a living holder"
        assert holder is None or lock.holder.fence > holder.fence
        self.held[person] = lock

    @rule(person=st.sampled_from(PEOPLE))
    def writes(self, person: str) -> None:
        """Whoever is not stopped by `assure` is the one that the store names."""
        if person not in self.held:
            return
        try:
            self.held[person].assure()
        except LockHeld:
            del self.held[person]
            return
        written = read_lock(self.store, "chat", "local:local1")
        assert written is not None and written.person == person

    @rule(person=st.sampled_from(PEOPLE))
    def renews(self, person: str) -> None:
        if person in self.held:
            self.held[person].renew()

    @rule(person=st.sampled_from(PEOPLE))
    def releases(self, person: str) -> None:
        if person in self.held:
            self.held.pop(person).release()

    @rule(seconds=st.sampled_from([1.0, 11.0, LEASE_S + 1]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def at_most_one_may_write(self) -> None:
        stored = self.store.read("locks/local:local1/chat.json")
        owners = [
            lock for lock in self.held.values()
            if not lock.lost and stored and lock.generation == stored.generation
        ]  # fmt: skip
        assert len(owners) <= 1

    def bound(self) -> Lock | None:
        """The holder whose lease still runs, or who froze it."""
        written = read_lock(self.store, "chat", "local:local1")
        for lock in self.held.values():
            if lock.holder == written and (written.frozen or self.leased(lock)):
                return lock
        return None

    def leased(self, lock: Lock) -> bool:
        left = dataclasses.replace(lock).holder.until
        return left > self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


TestOneLock = OneLock.TestCase
TestOneLock.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
