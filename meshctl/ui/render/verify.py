"""How the results of a battery look. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.quantities import show_seconds
from meshctl.ui.documents import EvidenceEntry, Verify
from meshctl.ui.render.text import sign, wrapped


def verify_lines(document: Verify, width: int) -> list[str]:
    """One line a check, its reason below when it is not a plain pass, and the verdict."""
    skipped = sum(check.verdict == "skipped" for check in document.checks)
    left_out = f", {skipped} of {len(document.checks)} checks skipped" if skipped else ""
    verdict = f"verdict: {sign(document.verdict).strip()}{left_out}"
    return [*check_lines(document.checks, width), "", verdict]


def check_lines(checks: Sequence[EvidenceEntry], width: int, indent: str = "") -> list[str]:
    """Checks with signs, names and times; reasons are wrapped below their check."""
    longest = max((len(check.name) for check in checks), default=0)
    lines: list[str] = []
    for check in checks:
        took = "" if check.verdict == "skipped" else f"{show_seconds(check.seconds):>6}"
        flaky = "  flaky" if check.flaky else ""
        head = f"{indent}{sign(check.verdict)}  {check.name:<{longest}}  {took}{flaky}"
        lines.append(head.rstrip())
        if check.why and (check.verdict != "pass" or check.flaky):
            lines += wrapped(check.why, width, indent + " " * 11)
    return lines
