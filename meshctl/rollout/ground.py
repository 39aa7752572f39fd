"""The ground a verb stands on: where we remember, who we are, and the target it is about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from meshctl.outside.chance import salt
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http
from meshctl.outside.interrupts import Interrupts
from meshctl.outside.objects import ObjectStore
from meshctl.outside.who import Who
from meshctl.plan.steps import Plan, StageRelease
from meshctl.rollout.closing import splits_of
from meshctl.rollout.hands import Hands
from meshctl.spec.model import Target as Place
from meshctl.state.evidence import Evidence
from meshctl.state.journal import Event, Journal, later, run_name, runs_of
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.lock import Lock, acquire, kept
from meshctl.state.shelf import FEW, shelve
from meshctl.state.site import Site, site_of
from meshctl.targets.target import Target


@dataclass(frozen=True)
class Ground:
    """One service (`name` on the target, `key` in the fleet) and everything a verb needs; `public`
    says that a fleet file declares it open to everyone."""

    store: ObjectStore
    clock: Clock
    http: Http
    who: Who
    target: Target
    place: Place
    key: str
    name: str
    interrupts: Interrupts
    stage: Callable[[StageRelease], dict[str, Any]]
    follow: Callable[[Event], None] = lambda _: None
    note: Callable[[Evidence], None] = lambda _: None
    reason: str = ""
    lock_wait_s: float = 0.0
    origin: tuple[str | None, bool | None] = (None, None)
    public: bool = False
    salt: str = field(default_factory=salt)

    @property
    def site(self) -> Site:
        """What its locks and journals are kept by."""
        return site_of(self.place)

    @contextlib.contextmanager
    def locked(self, what: str, *, preempt: bool = False) -> Iterator[Lock]:
        """Hold the lock on the service while the block runs."""
        lock = acquire(
            self.store,
            self.clock,
            self.who,
            service=self.name,
            site=self.site,
            what=what,
            label=self.key,
            wait_s=self.lock_wait_s,
            preempt=preempt,
        )
        with kept(lock):
            yield lock

    def ledger(self) -> Ledger:
        """What the journals of this service add up to."""
        return read_ledger(self.store, self.name, self.site)

    def hands(self, lock: Lock) -> Hands:
        """What the steps are performed with."""
        return Hands(
            target=self.target,
            service=self.name,
            stage=self.stage,
            http=self.http,
            clock=self.clock,
            lock=lock,
            interrupts=self.interrupts,
            note=self.note,
        )

    def open(self, plan: Plan, lock: Lock) -> Journal:
        """Begin a run: the whole plan is on disk before the first change."""
        known = runs_of(self.store, self.name, self.site)
        at = later(known, self.clock.now())
        run = run_name(self.name, self.site, at, self.salt)
        journal = Journal(self.store, run, follow=self.follow)
        lock.name_run(journal.run)
        lock.assure()  # a person may have thought longer about the plan than a lease lasts
        journal.append(Event(at=at, kind="opened", data=self.opening(plan, journal.run)))
        if len(known) > FEW:
            shelve(self.store, self.name, self.site, self.ledger())
        return journal

    def opening(self, plan: Plan, run: str) -> dict[str, Any]:
        """What the first event of a run says: enough to resume without any YAML."""
        commit, dirty = self.origin
        return {
            "run": run,
            "verb": plan.verb,
            "who": self.who.name,
            "reason": self.reason,
            "commit": commit,
            "dirty": dirty,
            "release": plan.to_release,
            "revision": plan.revision,
            "from_revision": plan.before.revision if plan.before else None,
            "key": self.key,
            "place": self.place.model_dump(mode="json"),
            "splits": splits_of(plan),
            "plan": plan.model_dump(mode="json"),
        }
