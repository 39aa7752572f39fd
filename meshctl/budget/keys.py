"""Reads numbers out of keys that strangers wrote, strictly, with their places. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint

_INT = re.compile(r"0|[1-9][0-9]{0,12}")
MOST = 2**40
"""No geometry has a larger number; a product of some of them still is quick to work out."""
MOST_LAYERS = 4096
"""Layers are worked out one by one: the largest known model has 126."""


class BadKey(Exception):
    """A key is missing or is not what it must be."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.message)
        self.complaint = complaint


@dataclass(frozen=True)
class Keys:
    """The keys under one path; a number may come as `name` or as one of its other names."""

    values: Mapping[str, Any]
    path: str
    prefix: str = ""

    def has(self, name: str) -> bool:
        """Whether it is there and not null."""
        return self.values.get(self.prefix + name) is not None

    def under(self, *names: str) -> Keys:
        """The keys of the first of these mappings that is there; else these."""
        for name in names:
            inner = self.values.get(name)
            if isinstance(inner, Mapping) and inner:
                return Keys(inner, f"{self.path}.{name}")
        return self

    def text(self, name: str) -> str | None:
        """Text, or None where it is not written."""
        value = self.values.get(self.prefix + name)
        if value is not None and not isinstance(value, str):
            raise self.bad(name, "text is wanted here, not a list or a mapping")
        return value

    def flag(self, name: str) -> bool | None:
        """true or false, or None where it is not written."""
        value = self.text(name)
        if value is not None and value.lower() not in ("true", "false"):
            raise self.bad(name, f"{shown(value)} is neither true nor false")
        return value.lower() == "true" if value is not None else None

    def number(self, *names: str, least: int = 0, most: int = MOST) -> int | None:
        """A whole number, or None where it is not written or null."""
        for name in names:
            value = self.values.get(self.prefix + name)
            if value is not None:
                return self._whole(name, value, least, most)
        return None

    def need(self, *names: str, least: int = 1, most: int = MOST) -> int:
        """A number that must be there."""
        found = self.number(*names, least=least, most=most)
        if found is None:
            raise BadKey(
                Complaint(self.path, f"{self.prefix}{names[0]} is missing", "the caches hang on it")
            )
        return found

    def share(self, whole: int, *among: str) -> int:
        """`whole` divided by a number that must be there; refused where each would get none."""
        parts = self.need(*among)
        if parts > whole:
            raise self.bad(among[0], f"{parts} cannot share {whole}")
        return whole // parts

    def numbers(self, name: str, count: int, least: int = 0) -> tuple[int, ...] | None:
        """One number for each layer, from a list or from one for all of them."""
        value = self.values.get(self.prefix + name)
        if value is None:
            return None
        if not isinstance(value, list):
            return (self._whole(name, value, least, MOST),) * count
        if len(value) != count:
            raise self.bad(name, f"{len(value)} entries, and there are {count} layers")
        return tuple(self._whole(name, each, least, MOST) for each in value)

    def words(self, name: str, count: int | None = None) -> tuple[str, ...] | None:
        """A list of words, `count` of them."""
        value = self.values.get(self.prefix + name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.bad(name, "a list of words is wanted here")
        if count is not None and len(value) != count:
            raise self.bad(name, f"{len(value)} entries, and there are {count} layers")
        return tuple(value)

    def indices(self, name: str) -> frozenset[int]:
        """A list of whole numbers; none where it is not written."""
        value = self.values.get(self.prefix + name)
        if value is None:
            return frozenset()
        if not isinstance(value, list):
            raise self.bad(name, "a list of whole numbers is wanted here")
        return frozenset(self._whole(name, each, 0, MOST) for each in value)

    def flags(self, name: str, count: int) -> tuple[bool, ...] | None:
        """One true or false for each layer; None where it is no list."""
        if not isinstance(self.values.get(self.prefix + name), list):
            return None
        known = {"true": True, "false": False, "1": True, "0": False}
        words = [word.lower() for word in self.words(name, count) or ()]
        if not set(words) <= set(known):
            raise self.bad(name, "true or false for each layer is wanted here")
        return tuple(known[word] for word in words)

    def is_list(self, name: str) -> bool:
        return isinstance(self.values.get(self.prefix + name), list)

    def bad(self, name: str, message: str) -> BadKey:
        """The error about one key."""
        return BadKey(Complaint(f"{self.path}.{self.prefix}{name}", message))

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        if not isinstance(value, str) or not _INT.fullmatch(value):
            raise self.bad(name, "a whole number is wanted here")
        number = int(value)
        if not least <= number <= most:
            raise self.bad(
                name, f"{number:,} is out of range: it must be between {least:,} and {most:,}"
            )
        return number
