"""Reads fields that a stranger may have written in any form, and keeps those it cannot read. Pure.

One odd revision must not hide the others of its service: a field that cannot be read gets a
placeholder, and what stood there is kept, so that the release differs from every one of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")
D = TypeVar("D")


class Odd:
    """`found` are the values that could not be read, by where they stood."""

    def __init__(self) -> None:
        self.found: Json = {}

    def read(self, path: str, value: Any, how: Callable[[Any], T], default: D) -> T | D:
        """What `how` makes of a value; the default where there is none, or none that it can."""
        if value is None:
            return default
        try:
            return how(value)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            self.found[path] = value
            return default

    def mapping(self, path: str, value: Any) -> Json:
        """An object, empty where there is none."""
        return self.read(path, value, _mapping, {})

    def rows(self, path: str, value: Any) -> list[Json]:
        """The objects of a list; what in it is no object is kept aside."""
        items: list[Any] = self.read(path, value, listed, [])
        return [self.mapping(f"{path}[{n}]", item) for n, item in enumerate(items)]


def _mapping(value: Any) -> Json:
    if not isinstance(value, dict):
        raise TypeError("no object")
    return value


def listed(value: Any) -> list[Any]:
    """A list. Raises TypeError for anything else, such as a text of many letters."""
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def text(value: Any) -> str:
    """A text that can be written again. Raises TypeError, or ValueError for half a character."""
    if not isinstance(value, str):
        raise TypeError("no text")
    value.encode()
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts. Raises TypeError or ValueError."""
    return tuple(text(item) for item in listed(value))


def whole(value: Any) -> int:
    """A whole number, which JSON may write as a text. Raises TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError("no number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("not whole")
    return int(value)


def flag(value: Any) -> bool:
    """True or false. Raises TypeError."""
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value
