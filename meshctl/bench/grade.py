"""Grades a bench by a budget file: what is good for this payload on this hardware. Pure.

budgets:
  - payload: qwen3-8b-q4k        # or "*"
    hardware: nvidia-l4          # or "*"
    decode_tokens_per_s: {A: 60, B: 45, C: 30}
    first_token_s: {A: 0.3, B: 0.8, C: 2}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshctl.bench.analyse import Analysis
from meshctl.bench.estimate import Measure
from meshctl.errors import UsageError

GRADES = "ABCDEF"
"""F is what reaches no other one."""
MORE_IS_BETTER = ("decode_tokens_per_s", "prefill_tokens_per_s", "acceptance")
LESS_IS_BETTER = ("headers_s", "first_byte_s", "first_event_s", "first_token_s", "inter_token_s")
_HINT = "see docs/bench.md for what a budget file looks like"


def grade(budgets: Any, payload: str, hardware: str, found: Analysis, place: str) -> str:
    """The worst grade of the measures that the first matching entry names. Raises UsageError where
    none matches, or where the file is not as it should be."""
    entry = _entry(budgets, payload, hardware, place)
    marks = [
        _mark(name, limits, getattr(found, name), place)
        for name, limits in entry.items()
        if name not in ("payload", "hardware")
    ]
    if not marks:
        raise UsageError("the entry names no measure", place=place, hint=_HINT)
    return max(marks)


def below(found: str, gate: str) -> bool:
    """Whether a grade is worse than the gate. Raises UsageError for a gate that is no grade."""
    if len(gate) != 1 or gate not in GRADES:
        raise UsageError(f"--gate {gate!r} is no grade", hint=f"one of {', '.join(GRADES)}")
    return found > gate


def _entry(budgets: Any, payload: str, hardware: str, place: str) -> dict[str, Any]:
    rows = budgets.get("budgets") if isinstance(budgets, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError("this is no budget file", place=place, hint=_HINT)
    for row in rows:
        if row.get("payload") in ("*", payload) and row.get("hardware") in ("*", hardware):
            return dict(row)
    raise UsageError(
        f"no entry is about {payload or 'an unnamed payload'} on {hardware or 'unknown hardware'}",
        place=place,
        hint="add one, or name others with --payload and --hardware",
    )


def _mark(name: str, limits: Any, found: Any, place: str) -> str:
    if name not in (*MORE_IS_BETTER, *LESS_IS_BETTER):
        raise UsageError(f"{name!r} is no measure", place=place, hint=_HINT)
    if not isinstance(limits, dict) or not all(_fine(g, limit) for g, limit in limits.items()):
        raise UsageError(f"{name}: grades A to E with numbers are wanted", place=place, hint=_HINT)
    if not isinstance(found, Measure):
        return "F"  # what was not seen reaches nothing
    reached = [
        g
        for g, limit in limits.items()
        if (found.median >= limit if name in MORE_IS_BETTER else found.median <= limit)
    ]
    return min(reached, default="F")


def _fine(name: Any, limit: Any) -> bool:
    number = isinstance(limit, int | float) and not isinstance(limit, bool)
    return isinstance(name, str) and len(name) == 1 and name in GRADES[:-1] and number
