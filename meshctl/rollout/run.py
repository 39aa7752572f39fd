"""Performs a plan step by step, writes the journal, and walks back when a release did not prove
itself.

The story: every step is journalled before and after it is performed; whatever ends the way forward
(a failed verdict, an error, Ctrl-C) is journalled too, then the steps that were begun are undone,
newest first, the failed one included, for it may be half done. The laws are in design.md.
"""

from __future__ import annotations

from meshctl.errors import Interrupted, LockHeld, MeshctlError, Unreachable
from meshctl.outside.clock import rfc3339
from meshctl.plan import traffic
from meshctl.plan.steps import Plan, Step
from meshctl.rollout.closing import came_to_serve, closing
from meshctl.rollout.ending import Ending, changed_something, ever_moved, moved_traffic
from meshctl.rollout.hands import Hands
from meshctl.rollout.undo import WayBack, lost, undo
from meshctl.state.evidence import Verdict
from meshctl.state.journal import Event, EventKind, Journal


def run(plan: Plan, journal: Journal, hands: Hands) -> Ending:
    """Carry a plan out, from wherever its journal stands. Raises LockHeld when taken over, and
    Unreachable when the journal cannot be written and nothing was changed yet."""
    try:
        ending = _recorded_failure(journal) or _forward(plan, journal, hands)
        if ending.how != "done":
            ending = _back(plan, journal, hands, ending)
        elif came_to_serve(plan, ending):
            ending = _if_it_serves(plan, hands, ending)
        kind: EventKind = "paused" if ending.how == "paused" or ending.owed else "closed"
        note(journal, hands, kind, data=closing(plan, journal, ending))
    except Unreachable as error:
        return _without_journal(plan, journal, error)
    return ending


def _if_it_serves(plan: Plan, hands: Hands, ending: Ending) -> Ending:
    """Success is what is seen at the end: somebody may have moved traffic since the last check."""
    try:
        seen = hands.target.look(hands.service)
    except MeshctlError as error:
        return ending.model_copy(update={"untidy": f"who serves now is unknown: {error.message}"})
    rows = [(row.revision, row.percent) for row in seen.serving] if seen else []
    if rows == [(plan.revision, 100)]:
        return ending
    told = ", ".join(f"{name} {percent} %" for name, percent in rows) or "nobody"
    why = f"it passed, but traffic was moved by somebody else meanwhile: {told}"
    failed = Ending(how="fail", why=why, verdict=ending.verdict, moved=True)
    return failed.not_restored("", (f"meshctl status {plan.service}",), owed=False)


def _without_journal(plan: Plan, journal: Journal, error: Unreachable) -> Ending:
    """Without the journal nobody knows who holds the lock: what is begun stays as it is."""
    if not changed_something(plan, journal):
        raise error
    why = f"the journal cannot be written: {error.message}"
    ending = Ending(how="fail", why=why, moved=ever_moved(plan, journal))
    return ending.not_restored("", (f"meshctl resume {plan.service}",), owed=True)


def _forward(plan: Plan, journal: Journal, hands: Hands) -> Ending:
    """Every step that is not recorded as finished; the first one that is not good ends it."""
    verdict = None
    for step in plan.steps:
        if step.id in journal.finished:
            verdict = _verdict_of(journal, step) or verdict
            continue
        ending = _attempt(plan, step, journal, hands)
        if ending.how != "done":
            if _only_tidying(plan, step):  # it serves and is proved: cleaning up can wait
                return ending.only_untidy(verdict)
            note(journal, hands, "failed", step.id, ending.record())
            return ending
        verdict = ending.verdict or verdict
    return Ending(how="done", verdict=verdict)


def _only_tidying(plan: Plan, step: Step) -> bool:
    """Whether nothing but retiring is left; what makes room for a new release is no tidying."""
    return all(one.kind == "retire" for one in plan.steps[plan.steps.index(step) :])


def _attempt(plan: Plan, step: Step, journal: Journal, hands: Hands) -> Ending:
    """One step between its two journal entries; what went wrong comes back as an ending."""
    try:
        hands.interrupts.check()
        hands.lock.assure()
        note(journal, hands, "started", step.id)
        began = hands.clock.monotonic()
        seen, verdict = hands.perform(step, journal.run)
        seconds = hands.clock.monotonic() - began
        if verdict is not None:
            note(journal, hands, "verdict", step.id, verdict.model_dump(mode="json"))
        if verdict is not None and not verdict.passed:
            return Ending(how=verdict.verdict, why=verdict.why, step=step.id, verdict=verdict)
        note(journal, hands, "finished", step.id, {"seconds": round(seconds, 3), "seen": seen})
        return Ending(how="done", verdict=verdict)
    except LockHeld:
        raise
    except Interrupted:
        return Ending(how="interrupted", why="stopped by a signal or by --timeout", step=step.id)
    except MeshctlError as error:
        named = not error.place or error.place in error.message
        place = "" if named else f" ({error.place})"
        return Ending(how="fail", why=f"{error.message}{place}", hint=error.hint, step=step.id,
                      code=error.exit_code)  # fmt: skip
    except Exception as error:  # whatever happens, what worked keeps working
        return Ending(how="fail", why=f"internal error: {error!r}", step=step.id, code=1)


def _back(plan: Plan, journal: Journal, hands: Hands, ending: Ending) -> Ending:
    """What follows from an ending, by the rules of design section 4."""
    ending = ending.model_copy(update={"moved": ever_moved(plan, journal)})
    if not changed_something(plan, journal):
        return ending.untouched()
    if plan.verb == "rollback" and ending.how != "aborted":
        again = _again(plan, ending)
        return _unless_gone(plan, hands, ending.stayed(again)) if again else ending.stayed()
    if plan.keep and ending.how == "fail":
        return _unless_gone(plan, hands, ending.restored(asked=False))
    if ending.how == "unclear" and not (moved_traffic(plan, journal) or plan.in_place):
        return ending.paused()
    return _walked_back(plan, journal, hands, ending)


def _unless_gone(plan: Plan, hands: Hands, ending: Ending) -> Ending:
    """That ending, unless the service is no more that it speaks of."""
    there_is_none = lost(plan, hands)
    return ending.vanished(there_is_none) if there_is_none else ending


def _walked_back(plan: Plan, journal: Journal, hands: Hands, ending: Ending) -> Ending:
    """Undone, as far as it will go; then what served before is asked."""
    only_traffic = ending.how == "unclear" and not plan.in_place
    way = undo(plan, journal, hands, only_traffic=only_traffic)
    if way.gone and plan.strategy != "create":
        return ending.vanished(way.gone)
    if way.left:
        return _not_undone(plan, ending, way)
    if only_traffic and not way.gone:
        return ending.paused()
    if problem := still_missing(plan, hands):
        return _missing(plan, hands, ending, problem)
    restored = ending.restored(asked=plan.before is not None)
    replaced = way.gone.why if way.gone and way.gone.replaced else ""
    return restored.model_copy(update={"gone": replaced})


def _missing(plan: Plan, hands: Hands, ending: Ending, problem: str) -> Ending:
    """All is undone, and yet the state before is not there."""
    if plan.strategy == "create":
        return ending.not_restored(problem, (f"meshctl status {plan.service}",), owed=False)
    left = (f"meshctl verify {plan.service}", f"meshctl rollback {plan.service}")
    return _unless_gone(plan, hands, ending.not_restored(problem, left, owed=False))


def _not_undone(plan: Plan, ending: Ending, way: WayBack) -> Ending:
    """Owed while trying again may help, or nobody said that it is to end. Whoever aborts has said
    so: what will not be undone is then left as it is."""
    why, service = f"not undone: {'; '.join(way.left)}", plan.service
    if way.later:
        return ending.not_restored(why, (f"meshctl resume {service}",), owed=True)
    barred = ending.model_copy(update={"barred": True})
    if ending.how != "aborted":
        return barred.not_restored(why, (f"meshctl abort {service}",), owed=True)
    back = () if plan.strategy == "create" else (f"meshctl rollback {service}",)
    return barred.not_restored(why, (f"meshctl status {service}", *back), owed=False)


def _again(plan: Plan, ending: Ending) -> tuple[str, ...]:
    """A rollback whose traffic did not move is left to do again."""
    failed = next((step for step in plan.steps if step.id == ending.step), None)
    moved = failed is None or failed.kind == "check"
    return () if moved else (f"meshctl rollback {plan.service} --to {plan.to_release}",)


def still_missing(plan: Plan, hands: Hands) -> str:
    """What keeps the state before from being there again, or "": asked, not assumed."""
    try:
        if plan.strategy == "create":
            seen = hands.target.look(hands.service)
            ours = seen and plan.revision and seen.revision(plan.revision)
            return "the service is still there" if ours else ""
        verdict = hands.check_again(plan.before) if plan.before else None
        problem = _elsewhere(plan, hands) if plan.before and plan.found else ""
    except Interrupted:
        return "stopped by a second signal before the previous release was asked"
    except MeshctlError as error:
        return f"the previous release could not be asked: {error.message}"
    if verdict is None or verdict.passed:
        return problem
    return f"the previous release answers badly: {verdict.why}"


def _elsewhere(plan: Plan, hands: Hands) -> str:
    """Who was given the traffic instead of those who were found with it, or "": looked at last, for
    somebody may have moved it on after we gave it back."""
    seen = hands.target.look(hands.service)
    now = traffic.named(seen) if seen else ()
    if traffic.same(now, plan.found):
        return ""
    return f"somebody else moved traffic meanwhile: {traffic.shown(now)}"


def _recorded_failure(journal: Journal) -> Ending | None:
    """The way back was begun, or about to begin, when the last process died: go on with it."""
    for event in reversed(journal.events):
        owing = event.kind == "paused" and event.data["ending"]["how"] != "paused"
        if owing or event.kind in ("undoing", "undone"):
            continue
        if event.kind == "failed":
            return Ending.read(event.data)
        return None
    return None


def _verdict_of(journal: Journal, step: Step) -> Verdict | None:
    for event in reversed(journal.events):
        if event.kind == "verdict" and event.step == step.id:
            return Verdict.model_validate(event.data)
    return None


def note(
    journal: Journal,
    hands: Hands,
    kind: EventKind,
    step: str | None = None,
    data: dict[str, object] | None = None,
) -> None:
    """Append one event with the time now."""
    at = rfc3339(hands.clock.now())
    journal.append(Event(at=at, kind=kind, step=step, data=data or {}))
