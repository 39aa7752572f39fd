"""How an engine's command line says what is served: which flag sets which number. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Form = Literal["number", "people", "float", "word", "switch", "json"]
"""`people`: a number as people write it, 16k is 16,000 and 16K is 16,384. `switch`: no value."""


@dataclass(frozen=True)
class Flag:
    """One setting of the serving shape and its spellings.

    - `words` translates a value; a switch has its value under the spelling itself.
    - `unset` are values that mean "as if it were not written".
    - `inside`: of a JSON value, the key that holds the number.
    """

    key: str
    names: tuple[str, ...]
    form: Form = "number"
    words: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    env: str = ""
    inside: str = ""


@dataclass(frozen=True)
class Serving:
    """Every flag of one engine, as far as memory goes.

    - `sets`: what the arithmetic takes over.
    - `lightens`: flags that take weights or caches off the device, with what they do. With them
      a "no" is not sure.
    - `burdens`: flags that put more on it than is counted, likewise: a "fits" is not sure.
    - `idle`: values with which such a flag changes nothing.
    - `shrinks`: values with which the engine takes less than asked, by flag and value.
    - `plain` take a value and `bare` none; nothing hangs on either.
    - `shrinks_by_default`: the engine itself lowers a context that nobody wrote; `keeps` are the
      flag and value that forbid it.
    - `equals`: `--flag=value` is one word. `prefix`: how variables that are flags begin.
    """

    sets: tuple[Flag, ...]
    lightens: Mapping[str, str]
    burdens: Mapping[str, str]
    plain: frozenset[str]
    bare: frozenset[str]
    idle: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shrinks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    keeps: Mapping[str, str] = field(default_factory=dict)
    shrinks_by_default: bool = False
    equals: bool = False
    prefix: str = ""


def names(text: str) -> frozenset[str]:
    """The words of a list that is long."""
    return frozenset(text.split())
