"""The names of the parts of a model that is cut into several files. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_PARTS = 1024
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\.gguf|\.safetensors)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """`index` counts from 1, as in the name."""

    prefix: str
    index: int
    count: int
    ending: str

    def name(self, index: int) -> str:
        """The file name of a part of the same set."""
        return f"{self.prefix}-{index:05}-of-{self.count:05}{self.ending}"

    def names(self) -> list[str]:
        """All of them, in order; no more than there can be."""
        return [self.name(index) for index in range(1, min(self.count, MOST_PARTS) + 1)]


def part_of(name: str) -> Part | None:
    """`x-00002-of-00003.gguf` in its parts; None for a name that says nothing of the kind."""
    match = _PART.fullmatch(name)
    return Part(match[1], int(match[2]), int(match[3]), match[4]) if match else None
