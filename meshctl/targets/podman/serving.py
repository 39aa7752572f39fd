"""Whether a unit that was started came to serve, and whether it ran on since."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.errors import Interrupted, Refused
from meshctl.outside.clock import Clock
from meshctl.outside.interrupts import Interrupts
from meshctl.plan.release import StartupProbe
from meshctl.quantities import show_seconds
from meshctl.state.evidence import Evidence
from meshctl.targets.podman.readings.loop import LoopVerdict, judge_loop
from meshctl.targets.podman.readings.unit import UnitSeen
from meshctl.targets.podman.readings.value import Unknown
from meshctl.targets.target import Assure

SLICE_S = 1.0
"""Between two looks."""
BEGINS_S = 15.0
"""Within which systemd begins a start that it was told of; it does so in milliseconds."""
RESTARTS = "restart-counter"


class Patience:
    """Waits as long as nobody asks to stop, and as long as the lock is ours. What was asked before
    does not count: the way back has waits of its own."""

    def __init__(self, clock: Clock, interrupts: Interrupts, assure: Assure) -> None:
        self._clock, self._interrupts, self.assure = clock, interrupts, assure
        self._before = interrupts.count

    def wait(self) -> None:
        """Raises Interrupted, LockHeld."""
        if self._interrupts.count > self._before:
            raise Interrupted("interrupted")
        self.assure()
        self._clock.sleep(SLICE_S)


@dataclass
class Serving:
    """One start, from when systemd was told of it."""

    unit: str
    began_s: float
    probe: StartupProbe
    first: UnitSeen | None = field(default=None)

    def judge(self, now: UnitSeen, at_s: float, *, place: str) -> None:
        """Raises Refused where it will not come to serve by itself: it ended, it begins again and
        again, or its time is over."""
        if self.first is None and now.active == "active":
            self.first = now  # before, the time at which it became active is an earlier start's
        gone_s = at_s - self.began_s
        if self.first is None and now.active == "inactive" and gone_s < BEGINS_S:
            return
        verdict = judge_loop(self.first or now, now)
        if verdict.course == "restarting" or restarted(now):
            raise _failed(f"{self.unit} ends and is started again", verdict, now, place)
        if verdict.course == "down":
            raise _failed(f"{self.unit} did not stay up", verdict, now, place)
        longest = self.probe.failures * self.probe.period_s
        if gone_s > longest:
            why = f"{self.unit} did not serve within {show_seconds(longest)}"
            raise _failed(f"{why} ({now.active}, {now.sub})", verdict, now, place)

    @staticmethod
    def ran_on(before: UnitSeen, after: UnitSeen) -> Evidence:
        """What the unit did between two readings, as evidence beside the battery's."""
        verdict = judge_loop(before, after)
        told = "; ".join(verdict.evidence)
        if verdict.cause and verdict.cause.line:
            told = f"{told}: {verdict.cause.line}"
        word = {"steady": "pass", "restarting": "fail", "down": "fail"}.get(verdict.course)
        return Evidence.model_validate(
            {"name": RESTARTS, "verdict": word or "unclear", "why": "" if word == "pass" else told}
        )


def restarted(unit: UnitSeen) -> bool:
    """A counter that is not zero after a start by hand, which sets it to zero."""
    return not isinstance(unit.restarts, Unknown) and unit.restarts.value > 0


def _failed(what: str, verdict: LoopVerdict, unit: UnitSeen, place: str) -> Refused:
    cause = unit.cause or verdict.cause
    line = f": {cause.line}" if cause and cause.line else ""
    remedy = cause.remedy if cause and cause.remedy else ""
    service = unit.name.removesuffix(".service")
    hint = remedy or f"`meshctl logs {service}` shows what it said"
    return Refused(f"{what}{line}", place=place, hint=hint)
