"""The hands of a rollout: whatever a step needs to be performed, in one value."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from meshctl.errors import Interrupted, Unreachable
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http
from meshctl.outside.interrupts import Interrupts, answering
from meshctl.plan import steps
from meshctl.plan.steps import CheckRelease, StageRelease, Step
from meshctl.state.evidence import Evidence, Verdict, overall
from meshctl.state.lock import Lock
from meshctl.targets.target import Address, Target
from meshctl.verify.battery import run_battery
from meshctl.verify.peers import PeerAsked, ask_peers
from meshctl.verify.subject import ModelAsked, Subject

BAKE_SLICE_S = 0.5
Note = Callable[[Evidence], None]


def silent(_: Evidence) -> None:
    """The note of who does not want to know."""


@dataclass(frozen=True)
class Hands:
    """One service on one target, under one lock."""

    target: Target
    service: str
    stage: Callable[[StageRelease], dict[str, Any]]
    http: Http
    clock: Clock
    lock: Lock
    interrupts: Interrupts
    note: Note = silent

    def perform(self, step: Step, run: str) -> tuple[dict[str, Any], Verdict | None]:
        """Bring one step about. Raises MeshctlError when it cannot be."""
        match step.act:
            case CheckRelease() as check:
                self._bake(check.bake_s)
                with at_once(self.interrupts):
                    self.interrupts.check()
                    return {}, self.check(check, self._noted)
            case StageRelease() as act:
                return self.stage(act), None
            case act:
                return self.target.perform(self.service, act, run, self.lock.assure), None

    def _noted(self, evidence: Evidence) -> None:
        """Tell of each answer, and stop between two questions when asked to."""
        self.note(evidence)
        self.interrupts.check()

    def check_again(self, check: CheckRelease) -> Verdict:
        """Ask the release that served before, on the way back: only a second signal stops that."""
        interrupted = self.interrupts.count > 0
        with at_once(self.interrupts) if interrupted else contextlib.nullcontext():
            return self.check(check, self._insisting)

    def _insisting(self, evidence: Evidence) -> None:
        self.note(evidence)
        if self.interrupts.insisted:
            self.interrupts.check()

    def check(self, check: CheckRelease, note: Note = silent) -> Verdict:
        """Ask the battery where the check says."""
        return ask(self.target, self.service, check, self.http, self.clock, note)

    def _bake(self, seconds: float) -> None:
        """Let a release run for a while under its share, ready to be interrupted or preempted."""
        deadline = self.clock.monotonic() + seconds
        while (left := deadline - self.clock.monotonic()) > 0:
            self.interrupts.check()
            with contextlib.suppress(Unreachable):  # a store that hiccups is no reason to stop
                self.lock.assure()
            self.clock.sleep(min(left, BAKE_SLICE_S))


@contextlib.contextmanager
def at_once(interrupts: Interrupts) -> Iterator[None]:
    """While the block only looks, a signal ends it at once and counts: a wedged engine may sit on
    one question for a minute. Raises Interrupted."""
    try:
        with answering():
            yield
    except KeyboardInterrupt as stop:
        interrupts.count += 1
        raise Interrupted("interrupted") from stop


def ask(
    target: Target, service: str, check: CheckRelease, http: Http, clock: Clock, note: Note
) -> Verdict:
    """Ask the battery of one check; it needs no lock, for it changes nothing. A release whose
    models nobody can read is unclear: without them the battery would ask next to nothing."""
    if check.asks.unreadable:
        why = "the release's MESH_MODELS cannot be read"
        unreadable = Evidence(name="model-listed", verdict="unclear", why=why)
        note(unreadable)
        return Verdict(verdict="unclear", checks=(unreadable,))
    address, seen = target.address(service, check), target.witness(service)
    if check.asks.peers:
        return _ask_peers(address, check, http, clock, note)
    subject = Subject(
        url=address.url,
        token=address.token,
        release=check.release,
        identity=check.identity,
        models=tuple(_model(model) for model in check.asks.models),
        token_deadline_s=check.asks.token_deadline_s,
    )
    verdict = run_battery(
        subject,
        check.asks.battery,
        http=http,
        clock=clock,
        confirm=check.asks.confirm,
        note=note,
        only=check.asks.only,
    )
    return _witnessed(verdict, seen(), note)


def _witnessed(verdict: Verdict, seen: Evidence | None, note: Note) -> Verdict:
    if seen is None:
        return verdict
    note(seen)
    checks = (*verdict.checks, seen)
    return Verdict(verdict=overall(checks), checks=checks)


def _ask_peers(
    address: Address, check: CheckRelease, http: Http, clock: Clock, note: Note
) -> Verdict:
    """Ask the peers of a check, through the coordinator at that address."""
    peers = tuple(
        PeerAsked(
            id=peer.id,
            release=peer.release,
            models=tuple(_model(model) for model in peer.models),
            deadline_s=peer.deadline_s,
            way_in=peer.way_in,
        )
        for peer in check.asks.peers
    )
    confirm = check.asks.confirm
    return ask_peers(
        address.url, address.token, peers, http=http, clock=clock, confirm=confirm, note=note
    )


def _model(model: steps.ModelAsked) -> ModelAsked:
    return ModelAsked(
        id=model.id,
        aliases=model.aliases,
        default=model.default,
        capabilities=frozenset(model.capabilities),
    )
