"""One line of the log of a mesh, and the three forms in which it is read. Pure.

Cloud Logging takes a line that is one JSON object apart: `severity` becomes the entry's own,
`message` is what it shows. Everywhere else a line is text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Level = Literal["error", "warning", "info", "debug"]
LONGEST_MESSAGE = 10_000
"""Characters of a structured line: 60 KB where all are escaped, so it is never cut into halves that
are no JSON. Cloud Logging takes 256 KB."""


@dataclass(frozen=True)
class Line:
    """What was said, by whom, and how grave it is."""

    number: int
    """In the order of all lines."""
    at: float
    """Seconds since the epoch."""
    level: Level | None
    """None where an engine does not say."""
    model: str
    """Whose engine said it; empty for the mesh itself."""
    text: str
    request: str = ""
    """The id of the request it is about."""

    @property
    def marked(self) -> str:
        """The text and who said it."""
        return f"[{self.model}] {self.text}" if self.model else f"mesh: {self.text}"


def plain(line: Line) -> str:
    """As it is written on a host: `mesh info: ...` or `[model] ...`."""
    return harmless(line.marked if line.model else f"mesh {line.level}: {line.text}")


def structured(line: Line) -> str:
    """As it is written on Cloud Run: one JSON object."""
    facts = {"model": line.model, "request_id": line.request}
    told = {name: value for name, value in facts.items() if value}
    severity = (line.level or "default").upper()
    return json.dumps({"severity": severity, "message": line.marked[:LONGEST_MESSAGE]} | told)


def dated(line: Line) -> str:
    """As GET /logs shows it: `2026-12-01T03:30:00.123Z info mesh: ...`."""
    moment = datetime.fromtimestamp(line.at, UTC).isoformat(timespec="milliseconds")
    return f"{moment.removesuffix('+00:00')}Z {line.level or '-'} {harmless(line.marked)}"


def harmless(text: str) -> str:
    """The text with its control characters escaped, but for tabs: a terminal would obey them, and
    a line feed would begin a line that nobody said."""
    kept = (char if char.isprintable() or char == "\t" else _escaped(char) for char in text)
    return text if text.isprintable() else "".join(kept)


def _escaped(char: str) -> str:
    """As Python and JSON write it: `\\x1b`."""
    return char.encode("unicode_escape").decode()
