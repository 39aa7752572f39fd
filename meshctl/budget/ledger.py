"""The arithmetic line by line: each number with its source and the sentence about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar

Source = Literal["measured", "header", "config", "default", "assumed"]
STRONGEST_FIRST: tuple[Source, ...] = ("measured", "header", "config", "default", "assumed")
"""measured: an engine printed it. header: the GGUF file says so. config: the geometry file or its
config.json keys say so. default: the engine's own. assumed: a rule of thumb of ours."""
Value = TypeVar("Value", bound="int | float | str | bool | None")


@dataclass(frozen=True)
class Line:
    """One number."""

    name: str
    value: int | float | str | bool | None
    source: Source
    text: str


@dataclass
class Ledger:
    """Takes the lines down in the order in which they are worked out."""

    lines: list[Line] = field(default_factory=list)

    def note(self, name: str, value: Value, source: Source, text: str = "") -> Value:
        """Write a number down and hand it on."""
        self.lines.append(Line(name, value, source, text))
        return value

    def work_out(self, name: str, value: Value, text: str, *of: str) -> Value:
        """The same for a number made of earlier ones: as weak as the weakest of them."""
        sources = {line.source for line in self.lines if line.name in of} or {"config"}
        weakest = next(source for source in reversed(STRONGEST_FIRST) if source in sources)
        return self.note(name, value, weakest, text)
