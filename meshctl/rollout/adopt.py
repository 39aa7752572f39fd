"""Takes over what runs: asks it the battery, and journals it as a release with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meshctl.errors import Refused
from meshctl.outside.clock import rfc3339
from meshctl.plan import traffic
from meshctl.plan.acts import numbered
from meshctl.plan.asks import asks_of
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.question import public_path, says_its_release
from meshctl.plan.standing import with_labels
from meshctl.plan.steps import CheckRelease, Plan
from meshctl.rollout.ending import Ending
from meshctl.rollout.ground import Ground
from meshctl.rollout.hands import at_once
from meshctl.rollout.verify import EXIT_CODES
from meshctl.spec.model import Rollout
from meshctl.state.evidence import Verdict
from meshctl.state.journal import Event
from meshctl.state.ledger import Ledger, Run
from meshctl.state.lock import Lock


@dataclass(frozen=True)
class Adoptee:
    """What is taken over, and how it is asked; `asked` is false where nobody wants to know."""

    seen: ServiceSeen
    main: Revision
    peers: str | None
    battery: tuple[str, ...]
    policy: Rollout
    asked: bool = True


@dataclass(frozen=True)
class Adopted:
    """The run that remembers it; `known` says that one before had done so already. `past` is what
    was known before, by the labels on the service, too: as a rollback would have it."""

    run: str
    verdict: str | None
    known: bool
    past: Ledger
    why: str = ""

    @property
    def code(self) -> int:
        """0, or as `verify` has it; who was not asked cannot have failed."""
        return EXIT_CODES[self.verdict] if self.verdict else 0


def adopt(ground: Ground, of: Adoptee) -> Adopted:
    """Ask what serves and journal it. What a run before adopted or proved is not asked again.

    Raises Refused where a run of the service is unfinished, or traffic moved while it was asked.
    """
    with ground.locked("adopt") as lock:
        ledger = ground.ledger()
        if ledger.unfinished:
            raise Refused(
                f"run {ledger.unfinished.run} of {ground.key} is unfinished",
                hint=f"`meshctl resume {ground.key}` or `meshctl abort {ground.key}`",
            )
        past = with_labels(ledger, of.seen, ground.site)
        known = _known(ledger.runs, of)
        if known:
            return Adopted(known.run, known.verdict, known=True, past=past)
        verdict = _asked(ground, of, lock) if of.asked else None
        run = _record(ground, of, verdict, lock)
        said = verdict.verdict if verdict else None
        why = verdict.why if verdict else ""
        return Adopted(run, said, known=False, past=past, why=why)


def _known(runs: tuple[Run, ...], of: Adoptee) -> Run | None:
    """The run after which this revision needs no adoption: it served and passed, or it was taken
    over unproven and nobody wants to ask it now."""
    same = [run for run in runs if (run.revision, run.release) == (of.main.name, of.main.release)]
    served = (run for run in reversed(same) if run.served)
    unproven = (run for run in reversed(same) if run.verb == "adopt" and not of.asked)
    return next(served, None) or next(unproven, None)


def question(of: Adoptee) -> CheckRelease:
    """The battery, on the path on which clients come."""
    return CheckRelease(
        where=public_path(of.seen),
        revision=of.main.name,
        tag=None,
        release=of.main.release,
        identity=says_its_release(of.main),
        asks=asks_of(of.main.template, of.battery, of.policy),
    )


def _asked(ground: Ground, of: Adoptee, lock: Lock) -> Verdict:
    with at_once(ground.interrupts):
        verdict = ground.hands(lock).check(question(of), ground.note)
        now = ground.target.look(ground.name)
    if now is None or (now.serving, now.main) != (of.seen.serving, of.seen.main):
        raise Refused(
            f"traffic of {ground.name} was moved while it was asked",
            place=f"{ground.target.name}/{ground.name}",
            hint="wait until nobody works on it, then adopt again",
        )
    return verdict


def _record(ground: Ground, of: Adoptee, verdict: Verdict | None, lock: Lock) -> str:
    """A run of one check, as a deploy would have left it behind."""
    check = question(of)
    plan = Plan(
        service=ground.key,
        target=ground.target.name,
        name=ground.name,
        verb="adopt",
        strategy="none",
        steps=numbered([(f"ask the battery of {of.main.name}", check)]) if verdict else (),
        to_release=check.release,
        revision=check.revision,
        found=traffic.named(of.seen),
        min_instances=of.seen.scaling.min,
    )
    journal = ground.open(plan, lock)
    if verdict:
        told = verdict.model_dump(mode="json")
        journal.append(_event(ground, "verdict", told, plan.steps[0].id))
    journal.append(_event(ground, "closed", _closing(plan, of, verdict)))
    return journal.run


def _event(ground: Ground, kind: Any, data: dict[str, Any], step: str | None = None) -> Event:
    return Event(at=rfc3339(ground.clock.now()), kind=kind, step=step, data=data)


def _closing(plan: Plan, of: Adoptee, verdict: Verdict | None) -> dict[str, Any]:
    """`served` only with a pass: a rollback goes to what proved itself, and nowhere else. `peers`
    is the announcement as it was found, which state/peers.py hands to the next release."""
    said = verdict.verdict if verdict else None
    code = EXIT_CODES[said] if said else 0
    how = "done" if said in (None, "pass") else said
    ending = Ending.model_validate({"how": how, "verdict": verdict, "code": code})
    return {
        "ending": ending.model_copy(update={"why": verdict.why if verdict else ""}).record(),
        "exit_code": code,
        "verdict": said,
        "release": plan.to_release,
        "revision": plan.revision,
        "served": said == "pass",
        "min_instances": plan.min_instances,
        "traffic": traffic.percents(of.seen.traffic),
        "peers": of.peers,
    }
