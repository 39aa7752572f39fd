"""Turns lines of a log into their document. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.observe.diagnose import diagnose_lines
from meshctl.observe.logs import Line
from meshctl.ui.asked import LogLine, Logs


def logs_document(service: str, target: str, lines: Sequence[Line], note: str = "") -> Logs:
    """The lines, and the first of them that names a reason in the words of any engine."""
    diagnosis = diagnose_lines(lines)
    root, complaint = diagnosis.root, diagnosis.complaint
    return Logs(
        service=service,
        target=target,
        lines=tuple(_line(line) for line in lines),
        cause=root.line if root else complaint.line if complaint else None,
        remedy=root.signature.remedy if root else None,
        note=note,
        several=len({line.revision for line in lines}) > 1,
    )


def _line(line: Line) -> LogLine:
    return LogLine(
        at=line.at or None,
        severity=line.severity,
        revision=line.revision or None,
        text=line.text,
    )
