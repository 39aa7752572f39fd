"""Acts in words, and how they become the numbered steps of a plan. Pure."""

from __future__ import annotations

from meshctl.plan.steps import KINDS, Act, Step
from meshctl.plan.undo import undo_text

Acts = list[tuple[str, Act]]
"""Each act with what it does in words."""


def numbered(acts: Acts) -> tuple[Step, ...]:
    """Give every act its place in the plan: `03-check`. Two checks are two steps."""
    return tuple(
        Step(
            id=f"{number:02d}-{KINDS[act.act]}",
            kind=KINDS[act.act],
            text=text,
            undo=undo_text(act),
            act=act,
        )
        for number, (text, act) in enumerate(acts, 1)
    )
