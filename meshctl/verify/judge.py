"""The policy that turns the attempts at one check into a verdict. Pure.

A check that fails is asked a second time. Failing twice is *fail*; failing and then passing is
asked `confirm` more times: all pass = *pass*, marked flaky, and any failure = *fail*. An unclear
attempt proves nothing either way: it is asked again, twice at most, and a third is *unclear*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meshctl.verify.check import Finding, Outcome

UNCLEAR_RETRIES = 2
"""How often an unclear attempt is asked again."""
WAIT_S = 1.0
"""Seconds before a failure or a first unclear attempt is asked again: in the same instant the
answer would be the same. After a second unclear attempt it is three times as long, for a front
that scales from zero or a network that hiccups."""


@dataclass(frozen=True)
class Ruling:
    """The verdict over all attempts at one check."""

    verdict: Outcome
    flaky: bool = False


def rule(attempts: Sequence[Outcome], confirm: int) -> Ruling | None:
    """The verdict, or None while the check must be asked again; `confirm` is 0 or more."""
    if attempts.count("unclear") > UNCLEAR_RETRIES:
        return Ruling("unclear")
    clear = [outcome for outcome in attempts if outcome != "unclear"]
    if not clear:
        return None
    if clear[0] == "pass":
        return Ruling("pass")
    if "fail" in clear[1:]:
        return Ruling("fail")
    return Ruling("pass", flaky=True) if len(clear) == 2 + confirm else None


def wait_s(attempts: Sequence[Outcome]) -> float:
    """Seconds to wait before the next attempt."""
    if not attempts or attempts[-1] == "pass":
        return 0.0
    return WAIT_S * 3 if attempts.count("unclear") == UNCLEAR_RETRIES else WAIT_S


def combine(findings: Sequence[tuple[str, Finding]]) -> Finding:
    """One finding over the questions of one attempt, each under its label: the worst decides."""
    if len(findings) == 1:
        return findings[0][1]
    worst = min((f.verdict for _, f in findings), key=["fail", "unclear", "pass"].index)
    why = "; ".join(f"{label}: {f.why}" for label, f in findings if f.verdict == worst and f.why)
    return Finding(worst, why, {label: dict(f.evidence) for label, f in findings})


def tell(findings: Sequence[Finding], ruling: Ruling) -> Finding:
    """The last attempt that shows the ruling, with the story of the others in its words."""
    shown = next(f for f in reversed(findings) if f.verdict == ruling.verdict)
    if len(findings) == 1:
        return shown
    attempts = [{"verdict": f.verdict, "why": f.why} for f in findings]
    return Finding(
        ruling.verdict, _story(findings, ruling, shown), {**shown.evidence, "attempts": attempts}
    )


def _story(findings: Sequence[Finding], ruling: Ruling, shown: Finding) -> str:
    alike = sum(f.verdict == ruling.verdict for f in findings)
    if ruling.flaky:
        failure = next(f.why for f in findings if f.verdict == "fail")
        return (
            f"flaky: failed once, then passed {alike} of {alike} times; it failed with: {failure}"
        )
    if ruling.verdict == "pass":
        return shown.why
    return f"{ruling.verdict} in {alike} of {len(findings)} attempts: {shown.why}"
