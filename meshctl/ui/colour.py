"""Colours for a terminal, as patterns over finished text: no renderer knows of them."""

from __future__ import annotations

import io

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.theme import Theme

_THEME = Theme(
    {"mesh.good": "green", "mesh.bad": "bold red", "mesh.doubt": "yellow", "mesh.quiet": "dim"}
)


class Signs(RegexHighlighter):
    """The words of verdicts and states; each stands beside a sign, so colour is never needed."""

    base_style = "mesh."
    highlights = (
        r"(?P<good>✓( pass| done)?|\b(READY|running|up to date)\b)",
        r"(?P<bad>✗( fail(ed)?| refused)?|\b(FAILED|NOT)\b|^error:)",
        r"(?P<doubt>\? unclear|\b(DEGRADED|DEPLOYING|UNKNOWN|flaky|pinned)\b|^! warning:)",
        r"(?P<quiet>- skipped|^  (hint|at):|^  \. .*)",
    )


def painted(text: str) -> str:
    """The text with terminal colours; its lines and words stay as they are."""
    sink = io.StringIO()
    console = Console(
        file=sink, force_terminal=True, theme=_THEME, highlighter=Signs(), width=10_000
    )
    lines = text.split("\n")
    for index, line in enumerate(lines):
        end = "\n" if index < len(lines) - 1 else ""
        console.print(line, markup=False, emoji=False, soft_wrap=True, end=end)
    return sink.getvalue()
