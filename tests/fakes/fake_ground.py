"""A whole small world to run verbs in: memory, a fake target, fake engines, a clock that jumps.

world = World()
world.serve("1")                  # release 1 was deployed, and proved itself
outcome = world.deploy("2")
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from meshctl.outside.interrupts import Interrupts
from meshctl.outside.objects import ObjectStore
from meshctl.outside.who import Who
from meshctl.plan.move import Move
from meshctl.plan.steps import Plan, StageRelease
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice
from meshctl.rollout.ground import Ground
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.wish import Wish
from meshctl.spec.model import Rollout
from meshctl.state.journal import Event, read_journal
from meshctl.state.ledger import Ledger, read_ledger
from tests import builders
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_target import FakeEngines, FakeTarget
from tests.fakes.memory_store import MemoryStore


def yes(_: Plan) -> None:
    """The answer to every question."""


class World:
    """One service `chat` on the target `local`."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.store: ObjectStore = self.memory
        self.clock = FakeClock(whenever_slept=lambda seconds: self.whenever_slept(seconds))
        self.whenever_slept: Callable[[float], None] = lambda _: None
        self.target = FakeTarget()
        self.http = FakeEngines(self.target)
        self.interrupts = Interrupts()
        self.stage: Callable[[StageRelease], dict[str, Any]] = lambda _: {}
        self.events: list[Event] = []
        self.follow: Callable[[Event], None] = lambda _: None
        self._salts = itertools.count(1)

    # Verbs, each as a new process at a later time.

    def deploy(self, version: str, *, take_traffic: bool = False, **service: Any) -> Outcome:
        wish = Wish(builders.fleet(version, **service), None, take_traffic=take_traffic)
        return verbs.deploy(self.ground(), wish, yes)

    def canary(self, version: str, *, keep: bool = False, **service: Any) -> Outcome:
        wish = Wish(builders.fleet(version, **service), None, keep=keep)
        return verbs.canary(self.ground(), wish, yes)

    def cutover(self, *steps: int, choice: Choice | None = None, **move: Any) -> Outcome:
        move["steps"] = steps or (100,)
        return verbs.cutover(self.ground(), self.move(**move), choice or Choice(), yes)

    def rollback(self, to: str | None = None) -> Outcome:
        return verbs.rollback(self.ground(), self.move, to, yes)

    def resume(self) -> Outcome:
        return verbs.resume(self.ground())

    def abort(self) -> Outcome:
        return verbs.abort(self.ground(), yes)

    def serve(self, *versions: str, **service: Any) -> None:
        """These releases were deployed one after the other, and proved themselves."""
        for version in versions:
            assert self.deploy(version, **service).exit_code == 0

    def move(self, **changed: Any) -> Move:
        given = Move("chat", "chat", "local", self.ledger, policy=Rollout(bake=2.0))
        return replace(given, **changed)

    def ground(self) -> Ground:
        self.clock.advance(60)  # whoever died with a lock has lost it by now
        number = next(self._salts)
        return Ground(
            store=self.store, clock=self.clock, http=self.http,
            who=Who("ann", f"host{number}", "boot", 7, 7), target=self.target,
            place=builders.place(), key="chat", name="chat", interrupts=self.interrupts,
            stage=lambda act: self.stage(act), follow=self._saw, salt=f"s{number:03d}",
        )  # fmt: skip

    # What can be seen from outside.

    @property
    def ledger(self) -> Ledger:
        return read_ledger(self.memory, "chat", "local:local1")

    @property
    def traffic(self) -> dict[str, int]:
        """Percents by version: `{"1": 100}`; empty when there is no service."""
        found = self.target.services.get("chat")
        return {self.version(name): p for name, p in found.named().items()} if found else {}

    @property
    def tags(self) -> dict[str, str]:
        found = self.target.services.get("chat")
        return {tag: self.version(name) for tag, name in found.tags.items()} if found else {}

    def version(self, revision: str) -> str:
        found = self.target.services["chat"].revisions
        template = next(r.template for r in found if r.name == revision)
        return template.environment["VERSION"]

    def revision(self, version: str) -> str:
        """The newest revision of a version."""
        found = self.target.services["chat"].revisions
        return next(r.name for r in found if r.template.environment["VERSION"] == version)

    def written(self, run: str) -> list[Event]:
        return read_journal(self.memory, run).events

    def state(self) -> dict[str, Any]:
        """The end state in words that do not depend on when or how often something was tried."""
        found = self.target.services.get("chat")
        last = self.ledger.last_traffic
        return {
            "traffic": self.traffic,
            "tags": self.tags,
            "public": found.public if found else None,
            "min": found.min if found else None,
            "chain": [run.release for run in self.ledger.chain],
            "unfinished": self.ledger.unfinished is not None,
            "last": sorted(last.values()) if last is not None else None,
        }

    def _saw(self, event: Event) -> None:
        """A revision is proved once its verdict is safe on disk."""
        self.events.append(event)
        if event.kind == "verdict" and event.data["verdict"] == "pass":
            self.target.proved |= {self._checked(event)}
        self.follow(event)

    def _checked(self, event: Event) -> str:
        opened = next(e for e in reversed(self.events) if e.kind == "opened")
        step = next(s for s in opened.data["plan"]["steps"] if s["id"] == event.step)
        return str(step["act"]["revision"])
