"""How the end of a run looks: what happened, where traffic is now, what to type next. Pure."""

from __future__ import annotations

from meshctl.quantities import show_seconds
from meshctl.ui.documents import EvidenceEntry, Rollout, RolloutStep
from meshctl.ui.render.plan import change_lines
from meshctl.ui.render.text import SIGNS, wrapped, wrapped_facts
from meshctl.ui.render.verify import check_lines

_HEADS = {0: "✓", 7: "?"}


def rollout_lines(document: Rollout, width: int, verbose: bool = False) -> list[str]:
    """The message first, then the facts, what went wrong, and what is left to do.

    A reader has seen the steps go by: only those of a run that went wrong are said again, and of
    the checks only what is not a pass. `verbose` shows them all, and so does `explain`.
    """
    head = f"{_HEADS.get(document.exit_code, '✗')} {document.verb} {document.service}"
    lines = wrapped(f"{head} on {document.target}: {document.message}", width, rest="  ")
    lines += _facts(document, width)
    if document.from_release and document.verb != "abort":  # of which all that is undone
        changed = change_lines(document.changes, width)
        lines += _section("changes since the release before", changed)
    lines += _section("steps", _steps(_shown_steps(document, verbose), width))
    lines += _checks(document, width, verbose)
    lines += _section("left to do by hand", [f"    $ {command}" for command in document.left])
    return lines + (wrapped(document.hint, width, "  next: ") if document.hint else [])


def _facts(document: Rollout, width: int) -> list[str]:
    return wrapped_facts(
        [
            ("run", document.run),
            ("release", _releases(document)),
            ("revision", document.revision),
            ("traffic", _traffic(document)),
            ("url", document.url),
            ("tag url", document.tag_url),
        ],
        width,
    )


def _releases(document: Rollout) -> str | None:
    if document.from_release == document.to_release:
        return document.to_release
    return f"{document.from_release or '(none)'} -> {document.to_release or '(none)'}"


def _traffic(document: Rollout) -> str | None:
    """Where requests go as observed at the end, the largest share first; never a guess."""
    if document.traffic is None:
        return "unknown" if document.run else None
    shares = sorted(document.traffic.items(), key=lambda share: (-share[1], share[0]))
    return ", ".join(f"{revision} {percent} %" for revision, percent in shares) or "none"


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}", *lines] if lines else []


def _shown_steps(document: Rollout, verbose: bool) -> tuple[RolloutStep, ...]:
    if verbose:
        return document.steps
    if document.exit_code == 0:
        return ()
    return tuple(step for step in document.steps if step.status != "pending")


def _steps(steps: tuple[RolloutStep, ...], width: int) -> list[str]:
    longest = max((len(step.id) for step in steps), default=0)
    lines: list[str] = []
    for step in steps:
        took = f"  ({show_seconds(step.seconds)})" if step.seconds else ""
        first = f"    {SIGNS[step.status]:<9}  {step.id:<{longest}}  "
        lines += wrapped(f"{step.text or step.kind}{took}", width, first)
    return lines


def _checks(document: Rollout, width: int, verbose: bool) -> list[str]:
    """Those that did not pass one by one, the rest in one line."""
    checks = document.evidence
    if verbose or not checks:
        return _section("checks", check_lines(checks, width, "    "))
    bad = [check for check in checks if check.verdict in ("fail", "unclear")]
    if not bad:
        return wrapped(_rest(checks), width, "  ")
    return _section(
        "checks", [*check_lines(bad, width, "    "), *wrapped(_rest(checks), width, "    ")]
    )


def _rest(checks: tuple[EvidenceEntry, ...]) -> str:
    """`10 checks passed; flaky: 03-check stream; skipped: 05-check identity`."""
    passed = sum(check.verdict == "pass" for check in checks)
    parts = [f"{passed} check{'' if passed == 1 else 's'} passed"]
    parts += _named("flaky", [check.name for check in checks if check.flaky])
    parts += _named("skipped", [check.name for check in checks if check.verdict == "skipped"])
    return "; ".join(parts)


def _named(word: str, names: list[str]) -> list[str]:
    return [f"{word}: {', '.join(names)}"] if names else []
