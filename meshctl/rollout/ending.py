"""How a way forward ended, and what that means for the exit code. Pure."""

from __future__ import annotations

from typing import Any, Literal

from meshctl.plan.ours import Gone
from meshctl.plan.steps import Plan, StartRevision, Step, StopRevision
from meshctl.spec.model import Frozen
from meshctl.state.evidence import Verdict
from meshctl.state.journal import Journal

_BY_WILL = {"interrupted": 130, "aborted": 0}
"""Exit codes of a walk back that somebody asked for."""
How = Literal["done", "fail", "unclear", "interrupted", "aborted", "paused"]


class Ending(Frozen):
    """`code` is the error's own exit code at first, and the run's in the end.

    `left` holds the exact commands that are left to type. `owed`: a part of the way back is not
    gone yet, and the run stays open for it; `barred`: only an answer that says no is in its way.
    `gone`: why the service is not there any more, and so nothing to go back to.
    `asked`: what serves again was asked. `moved`: traffic, or access to it, was moved at some time.
    """

    how: How
    why: str = ""
    hint: str = ""
    step: str | None = None
    verdict: Verdict | None = None
    code: int = 0
    back: bool | None = None
    left: tuple[str, ...] = ()
    untidy: str = ""
    owed: bool = False
    barred: bool = False
    gone: str = ""
    asked: bool = False
    moved: bool = False

    @property
    def judgement(self) -> Literal["pass", "fail", "unclear"] | None:
        """What the last battery said; an error on the way is a fail without a battery."""
        if self.verdict:
            return self.verdict.verdict
        return "fail" if self.how == "fail" else None

    def restored(self, *, asked: bool) -> Ending:
        """3 (130 after a signal, 0 when asked for): what served before serves again, and was
        asked where there was anything to ask."""
        return self._with(code=_BY_WILL.get(self.how, 3), back=True, asked=asked)

    def untouched(self) -> Ending:
        """Nothing had been changed yet: the code of the error itself, refused when it has none."""
        own = self.code if self.code in (1, 6, 64) else 8
        return self._with(code=_BY_WILL.get(self.how, own), back=True)

    def paused(self) -> Ending:
        """7: neither pass nor fail; `resume` asks again."""
        return self._with(how="paused", code=7, back=True)

    def stayed(self, left: tuple[str, ...] = ()) -> Ending:
        """4: a rollback shifts first; what it shifted to did not prove itself, and stays."""
        return self._with(code=4, back=False, left=left)

    def not_restored(self, why: str, left: tuple[str, ...], *, owed: bool) -> Ending:
        """4: says why, and what is left to type."""
        reasons = "; ".join(part for part in (self.why, why) if part)
        return self._with(code=4, back=False, left=left, why=reasons, owed=owed)

    def vanished(self, gone: Gone) -> Ending:
        """0 when it was to be undone anyway, for nothing is left of it; else 4."""
        aborted = self.how == "aborted"
        return self._with(
            code=0 if aborted else 4,
            back=False,
            gone=gone.why,
            left=() if aborted else (gone.command,),
            hint=f"`{gone.command}` {gone.then}",
        )

    def only_untidy(self, verdict: Verdict | None) -> Ending:
        """The release is proved and serves; only cleaning up went wrong."""
        return Ending(
            how="done", verdict=verdict, untidy=f"not cleaned up: {self.step}: {self.why}"
        )

    def record(self) -> dict[str, Any]:
        """As it stands in the journal."""
        return self.model_dump(mode="json")

    @classmethod
    def read(cls, data: dict[str, Any]) -> Ending:
        """From the journal."""
        return cls.model_validate({key: data[key] for key in cls.model_fields if key in data})

    def _with(self, **changes: Any) -> Ending:
        return self.model_copy(update=changes)


def begun(plan: Plan, journal: Journal) -> tuple[Step, ...]:
    """The steps that were started and not undone since, newest first."""
    open_steps: set[str] = set()
    for event in journal.events:
        if event.step and event.kind == "started":
            open_steps.add(event.step)
        if event.step and event.kind == "undone":
            open_steps.discard(event.step)
    return tuple(step for step in reversed(plan.steps) if step.id in open_steps)


def changed_something(plan: Plan, journal: Journal) -> bool:
    """Whether anything outside may have been changed, were it undone since: a stage or a check
    only looks."""
    started = {event.step for event in journal.events if event.kind == "started"}
    return any(step.kind not in ("stage", "check") for step in plan.steps if step.id in started)


def moved_traffic(plan: Plan, journal: Journal) -> bool:
    """Whether traffic, or access to it, may be moved now."""
    return any(_moves(step) for step in begun(plan, journal))


def ever_moved(plan: Plan, journal: Journal) -> bool:
    """The same for any time of the run, were it taken back since."""
    started = {event.step for event in journal.events if event.kind == "started"}
    return any(_moves(step) for step in plan.steps if step.id in started)


def _moves(step: Step) -> bool:
    """Who stops what serves moves its traffic, were it to nobody."""
    act = step.act
    in_place = isinstance(act, StartRevision) and act.instead_of is not None
    return step.kind == "shift" or isinstance(act, StopRevision) or in_place
