"""What must be true whatever happens to a rollout, read off the fake cloud and the stored journal.

`Watch` looks after every single call to the cloud; `truth` looks once a verb has ended, and holds
its exit code and its words against what is really there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from meshctl.plan import traffic
from meshctl.plan.steps import CheckRelease, Plan
from meshctl.rollout.outcome import Outcome
from meshctl.state.journal import read_journal
from tests.fakes.stormy_world import StormyWorld

Json = dict[str, Any]


class Broken(BaseException):
    """A law was broken. No error of ours, and no failed assertion that a rollout could survive."""


@dataclass
class Watch:
    """`proved` are the revisions with a recorded pass, `latest` their latest verdicts, `found` the
    splits that runs began with: all read off the store, for a dead process tells nobody."""

    world: StormyWorld
    proved: set[str] = field(default_factory=set)
    latest: dict[str, str] = field(default_factory=dict)
    found: list[dict[str, int]] = field(default_factory=list)
    _plans: dict[str, Plan] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _before: dict[str, int] = field(default_factory=dict)
    _done: int = 0
    _revisions: set[str] = field(default_factory=set)

    def look(self, call: str) -> None:
        """After every call: who has traffic, and what is still there."""
        self._catch_up()
        self._nobody_is_run_over(call)
        for split in (self.world.api.asked("chat"), self.world.api.split("chat")):
            for revision, percent in split.items():
                self._may_have(revision, percent, split, call)
        self._nothing_is_gone(call)
        asked, real = self.world.api.asked("chat"), self.world.api.split("chat")
        self._before = {name: max(asked.get(name, 0), real.get(name, 0)) for name in asked | real}

    def _nobody_is_run_over(self, call: str) -> None:
        """What one of ours wrote, it wrote on top of a reading that showed the latest stranger."""
        api = self.world.api
        wrote = len(api.done) > self._done and call.startswith(("services.patch", "services.del"))
        self._done = len(api.done)
        if wrote and api.strangers > api.known_strangers:
            raise Broken(f"{call} ran over a change that nobody had read")

    def _may_have(self, revision: str, percent: int, split: dict[str, int], call: str) -> None:
        api = self.world.api
        if revision in api.by_hand:
            return
        if revision not in self.proved:
            known = {row["name"].rpartition("/")[2] for row in api.inner.revisions["chat"]}
            alone = split == {revision: 100} and known - api.by_hand == {revision}
            if not alone or api.is_public("chat"):
                raise Broken(f"after {call}: {revision} has {percent} % and never passed")
        more = percent > self._before.get(revision, 0)
        ours = not call.startswith("what came before")
        failed = self.latest.get(revision) == "fail" and split not in self.found
        if more and ours and self._before and failed:
            raise Broken(f"after {call}: {revision} got {percent} % and failed last")

    def _nothing_is_gone(self, call: str) -> None:
        api = self.world.api
        there = {row["name"] for row in api.inner.revisions.get("chat", ())}
        ours = call == "services.delete" and api.done and api.done[-1].endswith(call)
        gone = {name.rpartition("/")[2] for name in self._revisions - there}
        if ours and gone & (self.proved & self._served()):
            raise Broken(f"{call} removed {sorted(gone)}, which had passed and served")
        if not ours and gone and "came before" not in call:
            raise Broken(f"after {call}: {sorted(gone)} is gone")
        self._revisions = there

    def _served(self) -> set[str]:
        return {name for split in self.found for name in split}

    def _catch_up(self) -> None:
        """Read what was journalled since."""
        for key, stored in self.world.memory.objects.items():
            if key in self._read or not key.startswith("runs/"):
                continue
            self._read.add(key)
            self._take(key.split("/")[1], json.loads(stored.data))

    def _take(self, run: str, event: Json) -> None:
        if event["kind"] == "opened":
            plan = self._plans[run] = Plan.model_validate(event["data"]["plan"])
            self.found.append(traffic.percents(plan.found))
        if event["kind"] == "verdict":
            step = next(s for s in self._plans[run].steps if s.id == event["step"])
            assert isinstance(step.act, CheckRelease)
            self.latest[step.act.revision] = event["data"]["verdict"]
            if event["data"]["verdict"] == "pass":
                self.proved.add(step.act.revision)


def truth(world: StormyWorld, outcome: Outcome) -> None:
    """What an exit code and its words promise, unless a stranger came after the last look."""
    said = f"{outcome.exit_code}: {outcome.message}"
    if "internal error" in said or "Error(" in said or outcome.exit_code not in CODES:
        raise Broken(f"ended with {said}")
    plan = _plan(world, outcome.run)
    if plan is None or world.api.strangers > world.told_knowing:
        return
    now = world.api.split("chat")
    found = traffic.percents(plan.found)
    served = {outcome.revision: 100}
    expected = _expected(outcome, plan, served, found)
    silent = outcome.exit_code not in (0, 3, 130) or outcome.verb == "canary"
    if silent and world.api.strangers:
        return  # it does not say that all traffic is where it was
    if outcome.exit_code == 4 and plan.strategy == "create":
        return  # it may be left, for us alone
    if expected is not None and now != expected:
        raise Broken(f"{outcome.verb} ended with {said}\nbut traffic is {now}, not {expected}")
    if outcome.traffic is not None and outcome.traffic != now:
        raise Broken(f"{outcome.verb} tells of traffic {outcome.traffic}, but it is {now}")
    if outcome.exit_code == 0 and outcome.verb in ("deploy", "cutover", "rollback"):
        _last_check_passed(world, outcome)


CODES = (0, 3, 4, 6, 7, 8, 130)


def _expected(
    outcome: Outcome, plan: Plan, served: dict[str | None, int], found: dict[str, int]
) -> dict[Any, int] | None:
    """The split that the exit code, or the message, promises; None where it promises none."""
    if "another service by now" in outcome.message:
        return None
    if outcome.exit_code == 0 and outcome.restored is False:
        return {}  # an abort of what is gone with its service
    if outcome.exit_code == 0:
        return found if outcome.verb in ("abort", "canary") else served
    if outcome.exit_code == 7:
        return served if plan.strategy == "create" else found
    if outcome.exit_code in (3, 6, 8, 130):
        return found
    if "traffic was never moved" in outcome.message:
        return found
    return served if outcome.message.startswith("rolled back to") else None


def _last_check_passed(world: StormyWorld, outcome: Outcome) -> None:
    events = read_journal(world.memory, outcome.run).events
    verdicts = [event.data["verdict"] for event in events if event.kind == "verdict"]
    if verdicts[-1:] != ["pass"]:
        raise Broken(f"{outcome.verb} ended with 0 after the verdicts {verdicts}")


def _plan(world: StormyWorld, run: str) -> Plan | None:
    return (
        Plan.model_validate(read_journal(world.memory, run).events[0].data["plan"]) if run else None
    )
