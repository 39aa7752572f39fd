"""Tells the story of one run from its journal. Pure."""

from __future__ import annotations

from pydantic import ValidationError

from meshctl.plan.steps import Plan, Step
from meshctl.plan.undo import undo_text
from meshctl.rollout.ending import Ending
from meshctl.rollout.report import hint_of, message_of
from meshctl.spec.model import Frozen
from meshctl.state.evidence import Verdict
from meshctl.state.journal import UNREADABLE, Event, Journal, damaged


class Line(Frozen):
    """One thing that happened, in words."""

    at: str
    event: str
    step: str | None
    text: str


class Story(Frozen):
    """One run: what it was for, what happened, and what can be typed next. `broken_off` is what
    became of it in place of a verdict, empty where there is one or it has not ended."""

    run: str
    plan: Plan
    who: str
    reason: str
    ending: Ending | None
    lines: tuple[Line, ...]
    next: tuple[str, ...]
    broken_off: str = ""


def explain(journal: Journal) -> Story:
    """The story of a run. Raises Damaged where its first event does not say what it was for, or
    a later one is of no form that meshctl writes."""
    try:
        return _told(journal)
    except (KeyError, TypeError, ValidationError, IndexError) as error:
        place = f"runs/{journal.run}"
        raise damaged(f"run {journal.run} says nothing that meshctl wrote", place) from error


def _told(journal: Journal) -> Story:
    opened = journal.events[0].data
    plan = Plan.model_validate(opened["plan"])
    last = journal.events[-1]
    ending = _ending(last)
    return Story(
        run=journal.run,
        plan=plan,
        who=opened.get("who", ""),
        reason=opened.get("reason", ""),
        ending=ending,
        lines=tuple(_line(plan, event) for event in journal.events),
        next=_next(plan, ending, journal.events),
        broken_off=_broken_off(last, ending),
    )


def _ending(event: Event) -> Ending | None:
    return Ending.read(event.data["ending"]) if event.kind in ("closed", "paused") else None


def _broken_off(last: Event, ending: Ending | None) -> str:
    if last.kind == "fenced":
        return _taken_over(last)
    return ending.how if ending and ending.how in ("interrupted", "aborted") else ""


def _taken_over(event: Event) -> str:
    return f"taken over by {event.data.get('by')} of {event.data.get('who')}"


def _next(plan: Plan, ending: Ending | None, events: list[Event]) -> tuple[str, ...]:
    if UNREADABLE in events:
        return (f"`meshctl history {plan.service}` shows what is known; nothing can be resumed",)
    last = events[-1]
    if last.kind == "fenced":
        return (f"`meshctl history {plan.service}` shows the run that took over",)
    if ending is None:
        return (f"`meshctl resume {plan.service}` or `meshctl abort {plan.service}`",)
    hint = hint_of(plan, ending)
    return tuple(part for part in (*ending.left, hint) if part)


def _line(plan: Plan, event: Event) -> Line:
    step = next((s for s in plan.steps if s.id == event.step), None)
    return Line(at=event.at, event=event.kind, step=event.step, text=_text(plan, event, step))


def _text(plan: Plan, event: Event, step: Step | None) -> str:
    match event.kind:
        case "opened":
            if plan.verb == "gc":
                return f"gc: {len(plan.steps)} to take away"
            if plan.verb in ("verify", "adopt"):
                return f"{plan.verb} {plan.to_release}"
            return f"{plan.verb} {plan.from_release or 'nothing'} -> {plan.to_release}"
        case "started":
            return step.text if step else ""
        case "finished":
            return f"done in {event.data.get('seconds', 0)} s"
        case "verdict":
            return _verdict(Verdict.model_validate(event.data))
        case "failed":
            return Ending.read(event.data).why
        case "undoing":
            return f"undo: {undo_text(step.act) if step else ''}"
        case "undone":
            return "undone" if step and undo_text(step.act) else "to be asked again"
        case "unreadable":
            return "this event cannot be read: somebody changed it"
        case "fenced":
            return _taken_over(event)
        case "closed" | "paused":
            ending = Ending.read(event.data["ending"])  # the reason stands at the failed step
            return message_of(plan, ending.model_copy(update={"why": ""}))


def _verdict(verdict: Verdict) -> str:
    told = [f"{check.name} {check.verdict}" for check in verdict.checks]
    return f"{verdict.verdict} ({', '.join(told)})" + (f": {verdict.why}" if verdict.why else "")
