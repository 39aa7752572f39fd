"""Reads what journald prints of a unit into lines. Pure."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any

from meshctl.observe.logs import LONGEST_TEXT, Line

SEVERITIES = ("EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG")
"""By syslog's priority, 0 to 7: the names are Cloud Logging's."""


def command(
    unit: str, *, user: bool, since_s: float, limit: int, severity: str | None, after: str = ""
) -> tuple[str, ...]:
    """The newest lines of a unit as JSON; `after` is a cursor that was read before."""
    words = ["journalctl", *(["--user"] if user else []), f"--unit={unit}", "--output=json"]
    words += ["--no-pager", f"--lines={limit}", f"--since=-{since_s:.0f}s"]
    words += [f"--after-cursor={after}"] if after else []
    words += [f"--priority={SEVERITIES.index(severity)}"] if severity in SEVERITIES else []
    return tuple(words)


def lines_of(printed: str, host: str) -> list[Line]:
    """The oldest first; what is no entry is passed over."""
    return list(_lines(printed, host))


def _lines(printed: str, host: str) -> Iterator[Line]:
    for row in printed.splitlines():
        try:
            entry = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield Line(
                at=_at(entry.get("__REALTIME_TIMESTAMP")),
                id=str(entry.get("__CURSOR") or ""),
                severity=_severity(entry.get("PRIORITY")),
                revision=host,
                text=_message(entry.get("MESSAGE"))[:LONGEST_TEXT],
            )


def _at(value: Any) -> str:
    """Microseconds since 1970."""
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 17:
        return ""
    moment = datetime.datetime.fromtimestamp(int(value) / 1e6, datetime.UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _severity(value: Any) -> str:
    known = isinstance(value, str) and len(value) == 1 and value in "01234567"
    return SEVERITIES[int(value)] if known else "DEFAULT"


def _message(value: Any) -> str:
    """Bytes that are no text come as numbers, and a line that was too long as null."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(b, int) and 0 <= b < 256 for b in value):
        return bytes(value).decode(errors="replace")
    return "(an entry without text)"
