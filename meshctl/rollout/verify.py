"""Asks a running release the battery on demand, and journals the verdict for later cutovers."""

from __future__ import annotations

from meshctl.errors import Refused
from meshctl.outside.clock import rfc3339
from meshctl.plan.acts import numbered
from meshctl.plan.asks import asks_of
from meshctl.plan.move import Move, tag_on
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.question import says_its_release
from meshctl.plan.steps import CheckRelease, Plan
from meshctl.rollout.access import told_to_clients
from meshctl.rollout.choice import Choice, chosen
from meshctl.rollout.ground import Ground
from meshctl.rollout.hands import ask, at_once
from meshctl.rollout.look import existing, observe
from meshctl.rollout.recorded import as_recorded
from meshctl.state.evidence import Evidence, Verdict
from meshctl.state.journal import Event, Journal, next_at, run_name

EXIT_CODES = {"pass": 0, "fail": 9, "unclear": 7}


def verify(
    ground: Ground, move: Move, choice: Choice, only: tuple[str, ...], *, by_journal: bool = False
) -> Verdict:
    """The verdict on a release: on its tag where it has one, else on the service's URL. With
    `by_journal` it is asked what it was asked when it was placed, whatever `move` says.

    A verdict over a part of the battery, or over a split, is told but proves no revision. That
    clients are shut out of what serves is told as a failure, and no fault of the revision.
    """
    seen = existing(ground, observe(ground))
    revision = _subject(seen, move, choice)
    if by_journal:
        move = as_recorded(ground, move, revision)
    check = _check(seen, revision, move, only)
    with at_once(ground.interrupts):
        verdict = ask(ground.target, ground.name, check, ground.http, ground.clock, ground.note)
        verdict = _if_unmoved(ground, seen, verdict)
    moved = any(evidence.name == "unmoved" for evidence in verdict.checks)
    if not only and not moved and (check.where == "tag" or _alone(seen, revision)):
        _record(ground, seen, check, verdict)
    if check.where == "tag":  # a candidate, which clients do not have yet
        return verdict
    return told_to_clients(ground, seen, verdict, part=bool(only))


def _if_unmoved(ground: Ground, seen: ServiceSeen, verdict: Verdict) -> Verdict:
    """No lock is held: whoever moved traffic or a tag meanwhile had others give the answers."""
    now = ground.target.look(ground.name)
    if now is not None and (now.effective, now.traffic) == (seen.effective, seen.traffic):
        return verdict
    why = "traffic or tags were moved while it was asked, so others may have answered"
    moved = Evidence(name="unmoved", verdict="unclear", why=why)
    return Verdict(verdict="unclear", checks=(*verdict.checks, moved))


def _subject(seen: ServiceSeen, move: Move, choice: Choice) -> Revision:
    if choice == Choice() and seen.main:
        return seen.main
    return chosen(seen, move, choice)


def _check(
    seen: ServiceSeen, revision: Revision, move: Move, only: tuple[str, ...]
) -> CheckRelease:
    tag = tag_on(seen, revision)
    on_tag = tag is not None and not _alone(seen, revision)
    if not on_tag and revision.name not in {row.revision for row in seen.serving}:
        raise Refused(
            f"revision {revision.name} has neither a tag nor traffic, so nobody can ask it",
            hint=f"`meshctl canary {move.key}` places the declared release with a tag",
            place=f"{move.target}/{move.name}",
        )
    asks = asks_of(revision.template, move.battery, move.policy)
    return CheckRelease(
        where="tag" if on_tag else "public" if seen.public else "service",
        revision=revision.name,
        tag=tag if on_tag else None,
        release=revision.release,
        identity=says_its_release(revision) and (on_tag or _alone(seen, revision)),
        asks=asks.model_copy(update={"only": only}),
    )


def _alone(seen: ServiceSeen, revision: Revision) -> bool:
    return [row.revision for row in seen.serving] == [revision.name]


def _record(ground: Ground, seen: ServiceSeen, check: CheckRelease, verdict: Verdict) -> None:
    plan = Plan(
        service=ground.key,
        target=ground.target.name,
        name=ground.name,
        verb="verify",
        strategy="none",
        steps=numbered([(f"ask the battery of {check.revision}", check)]),
        to_release=check.release,
        revision=check.revision,
    )
    at = next_at(ground.store, ground.name, ground.site, ground.clock.now())
    run = run_name(ground.name, ground.site, at, ground.salt)
    journal = Journal(ground.store, run)
    journal.append(Event(at=at, kind="opened", data=ground.opening(plan, run)))
    told = verdict.model_dump(mode="json")
    journal.append(Event(at=at, kind="verdict", step=plan.steps[0].id, data=told))
    journal.append(
        Event(at=rfc3339(ground.clock.now()), kind="closed", data=_closing(plan, verdict))
    )


def _closing(plan: Plan, verdict: Verdict) -> dict[str, object]:
    from meshctl.rollout.ending import Ending

    how = "done" if verdict.passed else verdict.verdict
    ending = Ending.model_validate({"how": how, "why": verdict.why, "verdict": verdict})
    code = EXIT_CODES[verdict.verdict]
    return {
        "ending": ending.model_copy(update={"code": code}).record(),
        "exit_code": code,
        "verdict": verdict.verdict,
        "release": plan.to_release,
        "revision": plan.revision,
        "served": False,
    }
