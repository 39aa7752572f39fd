"""A leased, fenced lock on one service: one rollout at a time, and a dead holder does not block.

The lock is one object that is only ever compared and swapped: let go, it says so and stays, for
not every bucket deletes under a condition, and its fence must only grow. A lease lasts 30 s and is
renewed every 10; a holder that is surely dead (same host, same boot, other process) is taken over
at once.
Whoever loses the object has lost the lock: `assure` is asked before every write to a target.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from meshctl.errors import MeshctlError, Refused
from meshctl.outside.clock import Clock, parse_rfc3339, rfc3339
from meshctl.outside.objects import ObjectStore, Stored
from meshctl.outside.who import Who
from meshctl.state.holder import (
    Holder,
    Released,
    held_error,
    is_free,
    lock_key,
    lost_error,
    parsed,
    read_lock,
)
from meshctl.state.site import Site

LEASE_S = 30.0
RENEW_S = 10.0
WAIT_STEP_S = 0.5


@dataclass
class Lock:
    """The lock as this process holds it; `label` is the service as a person types it."""

    store: ObjectStore
    clock: Clock
    service: str
    site: Site
    label: str
    holder: Holder
    generation: str
    lost: bool = False
    guard: threading.Lock = field(default_factory=threading.Lock)

    def renew(self) -> None:
        """Extend the lease when a third of it is over; marks the lock lost when it was taken."""
        with self.guard:
            now = self.clock.now()
            left = (parse_rfc3339(self.holder.until) - now).total_seconds()
            if not self.lost and not self.holder.frozen and left <= LEASE_S - RENEW_S:
                self._write(self.holder.model_copy(update={"until": _until(now)}))

    def name_run(self, run: str) -> None:
        """Say in the lock which run it is held for, so that others can look it up."""
        with self.guard:
            self._write(self.holder.model_copy(update={"run": run}))

    def assure(self) -> None:
        """Raises LockHeld unless the lock is still ours, by asking the store, not our memory."""
        self.renew()
        with self.guard:
            self.lost = self.lost or not self._is_ours()
        if self.lost:
            now_held = read_lock(self.store, self.service, self.site)
            raise lost_error(now_held, self.label, self.holder.run)

    def release(self) -> None:
        """Give it back; somebody else's lock is left alone."""
        if not self.lost:
            free = _released(self.clock.now(), self.holder.fence)
            self.store.replace(lock_key(self.service, self.site), free, self.generation)

    def _is_ours(self) -> bool:
        """By its fence, which nobody else was given: a write whose answer was lost has made a
        generation that we were never told of."""
        now = self.store.read(lock_key(self.service, self.site))
        held, fence = parsed(now)
        if now is None or held is None:
            return False
        if (held.who, fence) != (self.holder.who, self.holder.fence):
            return False
        self.generation = now.generation
        return True

    def _write(self, holder: Holder) -> None:
        key = lock_key(self.service, self.site)
        data = holder.model_dump_json().encode()
        written = self.store.replace(key, data, self.generation)
        if written is None and self._is_ours():
            written = self.store.replace(key, data, self.generation)
        if written is None:
            self.lost = True
        else:
            self.holder, self.generation = holder, written


def acquire(
    store: ObjectStore,
    clock: Clock,
    who: Who,
    *,
    service: str,
    site: Site,
    what: str,
    label: str = "",
    wait_s: float = 0.0,
    preempt: bool = False,
    frozen: bool = False,
    take: bool = False,
) -> Lock:
    """Take the lock, waiting up to `wait_s`. `preempt` takes it from a rollout that runs (rollback
    and abort do), but only `take` takes a manual freeze. `label` is the service as a person types
    it, where that is not its name on the target. Raises LockHeld."""
    label = label or service
    deadline = clock.monotonic() + wait_s
    while True:
        stored = store.read(lock_key(service, site))
        held, fence = parsed(stored)
        if held is None or is_free(held, clock.now()) or take or (preempt and not held.frozen):
            mine = _holder(who, what, clock.now(), fence + 1, frozen=frozen)
            generation = _written(store, lock_key(service, site), mine, stored)
            if generation:
                return Lock(store, clock, service, site, label, mine, generation)
            continue
        if clock.monotonic() >= deadline:
            raise held_error(held, label, who)
        clock.sleep(WAIT_STEP_S)


def _holder(who: Who, what: str, now: datetime.datetime, fence: int, *, frozen: bool) -> Holder:
    return Holder(
        person=who.person, host=who.host, boot=who.boot, pid=who.pid, pid_start=who.pid_start,
        what=what, run=None, since=rfc3339(now), until=_until(now), frozen=frozen,
        fence=fence,
    )  # fmt: skip


def _written(store: ObjectStore, key: str, holder: Holder, stored: Stored | None) -> str | None:
    """The generation of what was written over what was read; None when somebody was faster."""
    data = holder.model_dump_json().encode()
    return store.replace(key, data, stored.generation) if stored else store.create(key, data)


def _released(now: datetime.datetime, fence: int) -> bytes:
    return Released(released=rfc3339(now), fence=fence).model_dump_json().encode()


def _until(now: datetime.datetime) -> str:
    return rfc3339(now + datetime.timedelta(seconds=LEASE_S))


def break_lock(store: ObjectStore, clock: Clock, service: str, site: Site) -> Holder | None:
    """Free a lock, whoever holds it; the one that had it. Raises Refused in a race."""
    stored = store.read(lock_key(service, site))
    held, fence = parsed(stored)
    if stored is None or held is None:
        return None
    free = _released(clock.now(), fence)
    if store.replace(lock_key(service, site), free, stored.generation) is None:
        raise Refused("the lock changed hands just now", hint="look again: `meshctl lock status`")
    return held


@contextlib.contextmanager
def kept(lock: Lock) -> Iterator[Lock]:
    """Renew the lease in the background while the block runs, and give the lock back after it.

    One API call may take longer than a lease; without this it would look abandoned.
    """
    done = threading.Event()

    def renew() -> None:
        while not done.wait(RENEW_S):
            with contextlib.suppress(MeshctlError):  # asked again in ten seconds, and by `assure`
                lock.renew()

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield lock
    finally:
        done.set()
        thread.join()
        with contextlib.suppress(MeshctlError):  # what was done is done; the lease runs out
            lock.release()
