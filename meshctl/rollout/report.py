"""Tells how a run ended: from its plan, its journal and its ending to an Outcome. Pure."""

from __future__ import annotations

from meshctl.plan import traffic
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.steps import Plan
from meshctl.rollout.ending import Ending
from meshctl.rollout.outcome import Outcome, Status, StepRecord
from meshctl.state.evidence import Evidence, Verdict
from meshctl.state.journal import Event, Journal


def outcome_of(plan: Plan, journal: Journal, ending: Ending, seen: ServiceSeen | None) -> Outcome:
    """The outcome of a run that has just ended, or that is paused; `seen` is the service as it is
    now, None when it is gone or cannot be read."""
    return Outcome(
        run=journal.run,
        verb="abort" if ending.how == "aborted" else plan.verb,
        service=plan.service,
        target=plan.target,
        verdict=ending.judgement,
        exit_code=ending.code,
        message=message_of(plan, ending),
        hint=hint_of(plan, ending),
        from_release=plan.from_release,
        to_release=plan.to_release,
        revision=plan.revision,
        url=seen.url if seen else None,
        tag_url=_tag_url(plan, seen),
        traffic=traffic.percents(seen.serving) if seen else None,
        changes=plan.changes,
        steps=records(plan, journal),
        evidence=evidence(journal),
        restored=ending.back,
        left=ending.left,
    )


def nothing_to_do(plan: Plan, url: str | None) -> Outcome:
    """The outcome of an empty plan; no run was made for it."""
    return Outcome(
        run="",
        verb=plan.verb,
        service=plan.service,
        target=plan.target,
        verdict=None,
        exit_code=0,
        message=f"{plan.service} is up to date: release {plan.to_release} serves",
        from_release=plan.from_release,
        to_release=plan.to_release,
        revision=plan.revision,
        url=url,
    )


def message_of(plan: Plan, ending: Ending) -> str:
    """What happened, in one sentence that is true."""
    why = f": {ending.why}" if ending.why else ""
    if plan.verb == "gc":
        return "what can go is gone" if ending.how == "done" else f"stopped half-way{why}"
    if ending.how == "done":
        return _done(plan, ending) + (f"; {ending.untidy}" if ending.untidy else "")
    if plan.verb == "adopt":
        return f"adopted, although {plan.to_release} did not prove itself{why}"
    if ending.how == "paused":
        return f"unclear, paused before anything more{why}"
    if ending.gone:
        return f"{_GONE.get(ending.how, 'failed')}: {ending.gone}; {ending.why}".removesuffix("; ")
    if ending.how == "aborted" and ending.code == 0:
        serves = f"; {plan.from_release} serves and was asked" if ending.asked else ""
        return f"what {plan.verb} began is undone{serves}{why}"
    if plan.verb == "rollback" and ending.code == 4 and ending.how != "aborted":
        return _stayed(plan, ending) + why
    if ending.code == 4:
        how = ending.how if ending.how in _GONE else "failed"
        what = "the previous state is NOT fully restored" if ending.moved else _LEFT_OVER
        return f"{how}, and {what}{why}"
    if ending.code == 3 and plan.strategy == "create":
        return f"failed, and the new service was removed again{why}"
    if ending.code == 3 and plan.keep:
        return f"failed; the candidate is kept at 0 %{why}"
    if ending.code == 3:
        serves = "serves again" if ending.moved else "never stopped serving"
        stays = f"{serves} and was asked" if ending.asked else "is as it was found"
        told = f". Why: {ending.why}" if ending.why else ""
        return f"failed; {plan.from_release} {stays}{told}"
    if ending.code == 130:
        return f"interrupted; what was there before is there again{why}"
    return f"failed before anything changed{why}"


_GONE = {"aborted": "nothing is left to undo", "interrupted": "interrupted"}
_LEFT_OVER = "something of it is left over, although traffic was never moved"


def _stayed(plan: Plan, ending: Ending) -> str:
    """How a rollback ended that stays as it is; interrupted, nobody was asked."""
    if ending.left:
        return f"the rollback to {plan.to_release} did not get through"
    if ending.how == "interrupted":
        return f"rolled back to {plan.to_release}{_known(plan)}, which was not asked"
    return f"rolled back to {plan.to_release}{_known(plan)}, which did not prove itself"


def _known(plan: Plan) -> str:
    """Where a rollback knew its way from, when that was not the journal."""
    return " (known by the labels on the service)" if plan.by_labels else ""


def _done(plan: Plan, ending: Ending) -> str:
    to = plan.to_release
    if plan.verb == "adopt":
        how = "passed" if ending.verdict else "was not asked, so it is unproven"
        return f"adopted: {to} serves and {how}"
    return {
        "canary": f"canary {to} passed at 0 %",
        "verify": f"{to} passed",
        "rollback": f"rolled back: {to}{_known(plan)} serves and passed",
    }.get(plan.verb, f"{to} serves and passed")


def hint_of(plan: Plan, ending: Ending) -> str:
    """The next command, where there is one."""
    if ending.how == "paused":
        return f"`meshctl resume {plan.service}` asks again, `meshctl abort {plan.service}` removes"
    if ending.gone:
        return ending.hint
    if ending.barred:
        return _past_a_no(plan, ending)
    if ending.owed:
        return f"`meshctl resume {plan.service}` goes on with the way back"
    if plan.verb == "rollback" and ending.how != "done":
        return f"`meshctl history {plan.service}`, then `meshctl rollback {plan.service} --to ID`"
    if plan.verb == "canary" and ending.how == "done":
        return f"`meshctl cutover {plan.service} --revision {plan.revision}` gives it traffic"
    if ending.code == 4 and plan.strategy == "create":
        return f"`meshctl status {plan.service}`, then `meshctl deploy {plan.service}`"
    if ending.code == 4:
        return f"`meshctl status {plan.service}`, then `meshctl rollback {plan.service}`"
    if ending.code == 3 and plan.verb == "cutover":
        logs = f"`meshctl logs {plan.service} --revision {plan.revision}`"
        return ending.hint or f"{logs} shows what it said"
    return ending.hint


def _past_a_no(plan: Plan, ending: Ending) -> str:
    """What can be done where something will not be undone however often it is tried."""
    service = plan.service
    if not ending.owed:
        return f"`meshctl deploy {service} --take-traffic` goes on from what is there"
    return (
        f"`meshctl abort {service}` ends the run and leaves that as it is, "
        f"`meshctl resume {service}` tries once more"
    )


def records(plan: Plan, journal: Journal) -> tuple[StepRecord, ...]:
    """Every step of the plan and how far it got."""
    return tuple(
        StepRecord(
            id=step.id,
            kind=step.kind,
            text=step.text,
            status=_status(journal.events, step.id),
            seconds=_seconds(journal.events, step.id),
        )
        for step in plan.steps
    )


_STATUS: dict[str, Status] = {
    "started": "started", "finished": "done", "failed": "failed", "undone": "undone",
}  # fmt: skip


def _status(events: list[Event], step: str) -> Status:
    seen = [_STATUS[e.kind] for e in events if e.step == step and e.kind in _STATUS]
    if not seen:
        return "pending"
    return "failed" if seen[-1] == "undone" and seen[-2:-1] == ["failed"] else seen[-1]


def _seconds(events: list[Event], step: str) -> float:
    done = (e.data.get("seconds", 0.0) for e in reversed(events) if e.step == step and e.data)
    return next((float(seconds) for seconds in done if seconds), 0.0)


def evidence(journal: Journal) -> tuple[Evidence, ...]:
    """Every answer of the battery, of the latest time each step was asked."""
    latest = {
        event.step: Verdict.model_validate(event.data)
        for event in journal.events
        if event.kind == "verdict"
    }
    return tuple(
        check.model_copy(update={"name": f"{step} {check.name}"})
        for step, verdict in latest.items()
        for check in verdict.checks
    )


def _tag_url(plan: Plan, seen: ServiceSeen | None) -> str | None:
    """Where the release answers by itself, as long as it has a tag."""
    rows = seen.effective if seen else ()
    return next((row.url for row in rows if row.tag and row.revision == plan.revision), None)
