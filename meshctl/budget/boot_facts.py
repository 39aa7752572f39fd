"""What one line of a log may say of a boot: a pattern, and how its number is read. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Read = Callable[[str], Any]
Found = dict[str, Any]
MIB, GIB = 2**20, 2**30
NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
COUNT = r"(\d[\d,]{0,19})"


def count(text: str) -> int:
    """`176,240` -> 176240."""
    return int(text.replace(",", ""))


def mib(text: str) -> int:
    """As printed, so to about 0.005 MiB."""
    return round(float(text) * MIB)


def gib(text: str) -> int:
    """As printed, so to about 0.005 GiB."""
    return round(float(text) * GIB)


def yes(_: str) -> bool:
    """The line is all that counts."""
    return True


def last(_: Any, new: Any) -> Any:
    """Of several lines the last."""
    return new


@dataclass(frozen=True)
class Fact:
    """`key` of a Boot in the first group of `pattern`; `merge` chooses where several lines say it,
    such as those of several workers."""

    key: str
    pattern: re.Pattern[str]
    read: Read
    merge: Callable[[Any, Any], Any] = last

    def take(self, line: str, found: Found) -> None:
        """Write down what the line says, if it does."""
        match = self.pattern.search(line)
        if match is None:
            return
        value = self.read(match[1] if match.re.groups else "")
        found[self.key] = self.merge(found[self.key], value) if self.key in found else value


def fact(key: str, pattern: str, read: Read, merge: Callable[[Any, Any], Any] = last) -> Fact:
    """One row of an engine's table."""
    return Fact(key, re.compile(pattern), read, merge)


def take_all(facts: Sequence[Fact], line: str, found: Found) -> None:
    """Every fact of one line."""
    for one in facts:
        one.take(line, found)


def without(found: Mapping[str, Any], kept: Sequence[str]) -> Found:
    """What stays true when the engine starts anew."""
    return {key: value for key, value in found.items() if key in kept}
