"""Asks the checks of a battery in order, again where the policy says so, and sums them up."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from meshctl.errors import UsageError
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http
from meshctl.secret import Secret
from meshctl.spec.batteries import BATTERIES
from meshctl.state.evidence import Evidence, Verdict, overall
from meshctl.verify.ask import ask
from meshctl.verify.check import Check, Finding
from meshctl.verify.checks import CHECKS
from meshctl.verify.judge import Ruling, combine, rule, tell, wait_s
from meshctl.verify.presentable import clean, presentable
from meshctl.verify.subject import Subject

FIRST = "reachable"
"""Asked before anything else, whatever is chosen: a silent URL would be asked in vain."""


def ignore(evidence: Evidence) -> None:
    """Takes no note."""


def run_battery(
    subject: Subject,
    names: tuple[str, ...],
    *,
    http: Http,
    clock: Clock,
    confirm: int = 5,
    note: Callable[[Evidence], None] = ignore,
    only: tuple[str, ...] = (),
) -> Verdict:
    """The verdict of the named batteries or checks on one release, `only` some of them if given.

    `note` is told each check's evidence once it is concluded, in the order of `Verdict.checks`.
    Raises UsageError when a name is unknown, or when nothing is left to ask.
    """
    checks = _chosen(names, only)
    _refuse_nothing_to_ask(subject, checks)
    _refuse_negative(confirm)
    done: list[Evidence] = []
    for check in (CHECKS[FIRST], *(check for check in checks if check.name != FIRST)):
        reason = check.unless(subject) or _in_vain(done)
        evidence = (
            _skipped(check, reason) if reason else examine(check, subject, http, clock, confirm)
        )
        note(evidence)
        done.append(evidence)
    return Verdict(verdict=overall(tuple(done)), checks=tuple(done))


def check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The checks that names of batteries and checks stand for, each once, in the order asked.

    Raises UsageError for an unknown name, with near ones, and when the names stand for no check.
    """
    wanted = {check for name in names for check in _checks_of(name)}
    if not wanted:
        raise UsageError(
            f"nothing to check: {', '.join(names) or 'no battery'} holds no check in this version",
            hint="set `checks: [contract]`",
        )
    return tuple(name for name in CHECKS if name in wanted)


def _checks_of(name: str) -> tuple[str, ...]:
    if name in BATTERIES:
        return BATTERIES[name]
    if name in CHECKS:
        return (name,)
    known = (*BATTERIES, *CHECKS)
    near = difflib.get_close_matches(name, known, 1)
    raise UsageError(
        f"no battery or check is named {name!r}",
        hint=f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}",
    )


def _chosen(names: tuple[str, ...], only: tuple[str, ...]) -> tuple[Check, ...]:
    held = check_names(names)
    picked = check_names(only) if only else held
    strange = [name for name in picked if name not in held]
    if strange:
        raise UsageError(
            f"{', '.join(strange)} is not among the checks of {', '.join(names)}",
            hint=f"choose from: {', '.join(held)}",
        )
    return tuple(CHECKS[name] for name in picked)


def _refuse_nothing_to_ask(subject: Subject, checks: tuple[Check, ...]) -> None:
    reasons = {check.name: check.unless(subject) for check in checks}
    if all(reasons.values()):
        raise UsageError(
            "every check is skipped: "
            + "; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
            hint="choose a check that applies, or declare what the service can do",
            place=subject.url,
        )


def _refuse_negative(confirm: int) -> None:
    if confirm < 0:
        raise UsageError(
            f"confirm is {confirm}, and must be 0 or more",
            hint="set rollout.confirm to 0 or more; 5 is the default",
        )


def _in_vain(done: list[Evidence]) -> str:
    if done and done[0].verdict != "pass":
        return f"{FIRST} did not pass"
    return ""


def _skipped(check: Check, reason: str) -> Evidence:
    return Evidence(name=check.name, verdict="skipped", why=reason)


def examine(check: Check, subject: Subject, http: Http, clock: Clock, confirm: int) -> Evidence:
    """Ask one check until the policy knows what it thinks of it."""
    began = clock.monotonic()
    findings: list[Finding] = []
    while not (ruling := rule([f.verdict for f in findings], confirm)):
        if wait := wait_s([f.verdict for f in findings]):
            clock.sleep(wait)
        findings.append(_attempt(check, subject, http))
    seconds = clock.monotonic() - began
    return _evidence(check, tell(findings, ruling), ruling, seconds, subject.token)


def _attempt(check: Check, subject: Subject, http: Http) -> Finding:
    findings = []
    for question in check.questions(subject):
        answer = ask(question, http, timeout_s=subject.token_deadline_s)
        label = question.model.id if question.model else ""
        findings.append((label, check.judge(subject, question, answer)))
    return combine(findings)


def _evidence(
    check: Check, told: Finding, ruling: Ruling, seconds: float, token: Secret | None
) -> Evidence:
    return Evidence(
        name=check.name,
        verdict=ruling.verdict,
        why=clean(told.why, token),
        flaky=ruling.flaky,
        seconds=round(seconds, 3),
        evidence=presentable(told.evidence, token),
    )
