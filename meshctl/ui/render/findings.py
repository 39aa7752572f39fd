"""How findings look: the cause, the line that names it, what else shows it, what to do. Pure."""

from __future__ import annotations

import textwrap

from meshctl.ui.asked import FindingEntry, Findings
from meshctl.ui.render.text import wrapped


def findings_lines(document: Findings, width: int) -> list[str]:
    """One block for each finding, the root first; where none is an error, the last lines."""
    blocks = [_finding(one, width) for one in document.findings]
    if all(one.severity == "warning" for one in document.findings):
        blocks.append(_unknown(document, width))
    if document.note:
        blocks.append(wrapped(document.note, width, "! "))
    return [line for block in blocks for line in (*block, "")][:-1]


def _finding(one: FindingEntry, width: int) -> list[str]:
    sign = "✗" if one.severity == "error" else "!"
    place = [f"phase {one.phase}" if one.phase else "phase unknown", one.engine or ""]
    place.append(f"line {one.line_number:,}")
    return [
        f"{sign} {one.id}: {', '.join(part for part in place if part)}",
        *wrapped(one.cause, width, "  "),
        *_quoted(one.line, width, "  > "),
        *(line for text in one.evidence for line in _quoted(text, width, "  . ")),
        *wrapped(one.remedy, width, "  hint: "),
    ]


def _unknown(document: Findings, width: int) -> list[str]:
    if not document.lines_read:
        return ["? there is nothing in the log"]
    more = "more " if document.findings else ""
    count = "1 line" if document.lines_read == 1 else f"{document.lines_read:,} lines"
    lines = [f"? nothing {more}is known of what was read: {count}"]
    if document.complaint:
        lines.append(f"  first complaint, line {document.complaint.line_number:,}:")
        lines += _quoted(document.complaint.line, width, "  > ")
    lines += ["  the last lines, each once:"] if document.last_lines else []
    return lines + [line for text in document.last_lines for line in _quoted(text, width, "  . ")]


def _quoted(text: str, width: int, first: str) -> list[str]:
    """Another's words: broken wherever they must be, for they may have no blanks at all."""
    rest = " " * len(first)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest,
                         break_on_hyphens=False) or [first.rstrip()]  # fmt: skip
