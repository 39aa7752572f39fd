"""A secret that never prints: not in a log, an exception, a journal or JSON. Pure."""

from __future__ import annotations

from typing import Never


class Secret:
    """Holds a value that only `reveal()` gives back; every way of printing shows stars."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself. Call it only where the value goes on the wire."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))

    def __reduce__(self) -> Never:
        raise TypeError("a Secret is not pickled: it would leave the process in clear")
