"""What one attempt showed, and the verdict drawn from it. Pure."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from meshctl.spec.model import Frozen

Judgement = Literal["pass", "fail", "unclear", "skipped"]


class Evidence(Frozen):
    """One attempt at one thing: numbers, excerpts, times. Recorded, never edited."""

    name: str
    verdict: Judgement
    why: str = ""
    flaky: bool = False
    seconds: float = 0.0
    evidence: dict[str, Any] = Field(default={})


class Verdict(Frozen):
    """The judgement over all evidence of one battery."""

    verdict: Literal["pass", "fail", "unclear"]
    checks: tuple[Evidence, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def why(self) -> str:
        """The first reason that decided it, in words."""
        return next(
            (f"{c.name}: {c.why}" for c in self.checks if c.verdict == self.verdict and c.why), ""
        )


def overall(checks: tuple[Evidence, ...]) -> Literal["pass", "fail", "unclear"]:
    """Fail wins over unclear, unclear over pass; nothing but skipped checks proves nothing."""
    seen = {check.verdict for check in checks}
    if "fail" in seen:
        return "fail"
    if "unclear" in seen or "pass" not in seen:
        return "unclear"
    return "pass"
