"""The verbs that change what runs. Each one: lock, look, plan, ask, journal, run, report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from meshctl.errors import MeshctlError, Refused
from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.move import Move, make_cutover
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.ours import built_on, gone
from meshctl.plan.request import Request
from meshctl.plan.source import notes as source_notes
from meshctl.plan.steps import Plan
from meshctl.rollout.access import refuse_shut_out, with_access
from meshctl.rollout.choice import Choice, chosen
from meshctl.rollout.ending import Ending
from meshctl.rollout.ground import Ground
from meshctl.rollout.labels import remember, way_back
from meshctl.rollout.look import existing, observe
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.report import nothing_to_do, outcome_of
from meshctl.rollout.run import run
from meshctl.rollout.unfinished import back_from, fence, take_over, unfinished
from meshctl.rollout.wish import Wish, planned, refuse_tag, request_of
from meshctl.state.journal import Journal
from meshctl.state.lock import Lock

Approve = Callable[[Plan], None]
"""Shows a plan and asks; raises Interrupted when the answer is no."""


def deploy(ground: Ground, wish: Wish, approve: Approve) -> Outcome:
    """Bring a service to what the fleet wants. Raises Refused before anything changed."""
    with ground.locked("deploy") as lock:
        seen, request = observe(ground), request_of(ground, wish)
        plan = planned(make_deploy, request, seen, wish)
        return _with_source(request, carry_out(ground, plan, lock, approve, seen))


def canary(ground: Ground, wish: Wish, approve: Approve) -> Outcome:
    """Place and verify the release at 0 %, and stop there. Raises UsageError for a tag that no
    host name can begin with."""
    if wish.tag is not None:
        refuse_tag(wish.tag, ground.name)
    with ground.locked("canary") as lock:
        seen, request = observe(ground), request_of(ground, wish)
        plan = planned(make_canary, request, seen, wish)
        return _with_source(request, carry_out(ground, plan, lock, approve, seen))


def _with_source(request: Request, outcome: Outcome) -> Outcome:
    """Where nothing was to do no plan was shown, and so no note on it."""
    told = source_notes(request.service.image, request.built, request.source)
    if outcome.run or not told:
        return outcome
    return outcome.model_copy(update={"message": "; ".join((outcome.message, *told))})


def cutover(ground: Ground, move: Move, choice: Choice, approve: Approve) -> Outcome:
    """Give a verified revision the traffic."""
    with ground.locked("cutover") as lock:
        seen = existing(ground, observe(ground))
        refuse_shut_out(ground, seen)
        plan = make_cutover(move, seen, chosen(seen, move, choice))
        return carry_out(ground, plan, lock, _then_fence(ground, approve), seen)


def _then_fence(ground: Ground, approve: Approve) -> Approve:
    """A canary that is still unclear is over once its revision is given the traffic."""

    def approved(plan: Plan) -> None:
        approve(plan)
        fence(ground, "cutover")

    return approved


def rollback(ground: Ground, move: Callable[[], Move], to: str | None, approve: Approve) -> Outcome:
    """Shift first, ask after. A rollout that runs on the service loses its lock at once; its run
    is fenced off when the answer is yes, so that after a no it can still be resumed."""
    with ground.locked("rollback", preempt=True) as lock:
        seen, plan = _way_back(ground, move, to)
        if plan.steps:
            approve(plan)
            if fence(ground, "rollback"):  # what it had in flight may have come about since
                seen, plan = _way_back(ground, move, to)
        return with_access(ground, carry_out(ground, plan, lock, _approved, seen))


def _way_back(ground: Ground, move: Callable[[], Move], to: str | None) -> tuple[ServiceSeen, Plan]:
    seen = existing(ground, ground.target.look(ground.name))
    return seen, way_back(move(), seen, to, ground.site)


def _approved(plan: Plan) -> None:
    """The answer was yes already."""


def resume(ground: Ground) -> Outcome:
    """Go on with the run that nobody ended, forward or back, from where its journal stands."""
    with ground.locked("resume") as lock:
        journal, plan = unfinished(ground)
        lock.name_run(journal.run)
        ending = remember(ground, lock, plan, run(plan, journal, ground.hands(lock)))
        return _told(ground, plan, journal, ending)


def abort(ground: Ground, approve: Approve) -> Outcome:
    """Undo what the unfinished run began, in its own journal; whoever runs it is fenced off."""
    with ground.locked("abort", preempt=True) as lock:
        approve(_as_it_is(ground, back_from(*unfinished(ground))))
        journal, plan = take_over(ground)
        lock.name_run(journal.run)
        ending = remember(ground, lock, plan, run(plan, journal, ground.hands(lock)))
        return _told(ground, plan, journal, ending)


def _as_it_is(ground: Ground, plan: Plan) -> Plan:
    """The way back, with what the service as it is now keeps from being undone."""
    with contextlib.suppress(MeshctlError):
        seen = ground.target.look(ground.name)
        lost = gone(plan, seen)
        why = f"{lost.why}: nothing is left to undo" if lost else built_on(plan, seen)
        return plan.model_copy(update={"notes": (why,)}) if why else plan
    return plan


def carry_out(
    ground: Ground, plan: Plan, lock: Lock, approve: Approve, seen: ServiceSeen | None
) -> Outcome:
    """Ask, open the journal, and run; an empty plan makes no run. Raises Refused."""
    if plan.refused:
        raise refusal(plan)
    if plan.empty:
        return nothing_to_do(plan, seen.url if seen else None)
    approve(plan)
    journal = ground.open(plan, lock)
    ending = remember(ground, lock, plan, run(plan, journal, ground.hands(lock)))
    return _told(ground, plan, journal, ending)


def refusal(plan: Plan) -> Refused:
    """All reasons of a refused plan in one error; the first one's hint is the next thing to do."""
    first = plan.refused[0]
    message = "; ".join(reason.message for reason in plan.refused)
    return Refused(message, hint=first.hint, place=first.place or plan.service)


def _told(ground: Ground, plan: Plan, journal: Journal, ending: Ending) -> Outcome:
    try:
        seen = ground.target.look(ground.name)
    except MeshctlError:  # only the address is missing then
        seen = None
    return outcome_of(plan, journal, ending, seen)
