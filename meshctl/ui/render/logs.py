"""How log lines look: time, revision where there are several, text; what names a reason. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.ui.asked import LogLine, Logs
from meshctl.ui.render.text import second, wrapped

_LOUD = ("WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
_PLAIN = "DEFAULT"


def logs_lines(document: Logs, width: int) -> list[str]:
    """One line for each line that was written, never wrapped: what it says is another's."""
    days = {line.at[:10] for line in document.lines if line.at}
    lines: list[str] = []
    for line in document.lines:
        lines += _line(line, document, len(days) > 1)
    if document.cause and document.lines:
        lines += wrapped(f"first reason: {document.cause}", width, "✗ ")
        lines += wrapped(document.remedy, width, "  hint: ") if document.remedy else []
    return lines + (wrapped(document.note, width, "! ") if document.note else [])


def _line(line: LogLine, document: Logs, dated: bool) -> list[str]:
    at = _time(line.at, dated)
    names = _names(document.lines)
    revision = f" {names.get(line.revision, '?')}" if document.several and line.revision else ""
    level = f" {line.severity}" if line.severity in _LOUD else ""
    mark = "✗ " if document.cause and document.cause in line.text else ""
    first, *rest = (line.text or " ").split("\n")
    head = f"{at}{revision}{level}  "
    return [f"{head}{mark}{first}", *(f"{' ' * len(at)}  {more}" for more in rest)]


def _time(at: str | None, dated: bool) -> str:
    """`20:45:12`, with the day in front where there are several."""
    if not at:
        return "--:--:--"
    return f"{at[5:10]} {second(at)}" if dated else second(at)


def _names(lines: Sequence[LogLine]) -> dict[str | None, str]:
    """What tells the revisions apart: their names without what all of them begin with."""
    names = sorted({line.revision for line in lines if line.revision})
    if len(names) < 2:
        return {name: name for name in names}
    start = 0
    while all(len(n) > start and n[start] == names[0][start] for n in names):
        start += 1
    cut = names[0][:start].rfind("-") + 1
    return {name: name[cut:] for name in names}
