"""The longest context that fits, for one request and for several at once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from meshctl.budget.budget import Budget
from meshctl.budget.llama import PAD

Retry = Callable[[Mapping[str, Any]], Budget]
"""The same question with some settings changed, by the key of the geometry."""
GRAIN = PAD
"""Steps of the search in tokens: llama.cpp allocates no others."""
UNKNOWN_LONGEST = 2**20
"""Searched up to here where a model does not say how long a context it was made for."""


@dataclass(frozen=True)
class Longest:
    """Tokens of each of `sequences` requests at once; None where not even the shortest passes.

    `whole`: it is as long as the model itself goes.
    """

    sequences: int
    fits: int | None
    tight: int | None
    whole: bool


def shape(engine: str, sequences: int, context: int) -> dict[str, Any]:
    """So many requests of so many tokens each, in the engine's own terms."""
    total = context * sequences if engine == "llama.cpp" else context
    return {"sequences": sequences, "context": total}


def longest(engine: str, most: int | None, sequences: int, retry: Retry) -> Iterator[Longest]:
    """For 1, 2, 4 and so on up to `sequences`; `most` is how long the model goes, if it says."""
    for count in _counts(sequences):
        found = longest_of(engine, most or UNKNOWN_LONGEST, count, retry)
        yield found if most else replace(found, whole=False)


def longest_of(engine: str, most: int, sequences: int, retry: Retry) -> Longest:
    """Found by halving, for more context never needs less."""

    def passes(context: int, words: tuple[str, ...]) -> bool:
        return retry(shape(engine, sequences, context)).verdict in words

    tight = _largest(most, lambda context: passes(context, ("fits", "tight")))
    fits = _largest(tight, lambda context: passes(context, ("fits",))) if tight else None
    return Longest(sequences, fits, tight, whole=bool(fits and fits >= most))


def _largest(most: int, passes: Callable[[int], bool]) -> int | None:
    """The largest multiple of the grain that passes, or `most` itself."""
    if passes(most):
        return most
    low, high = 0, -(-most // GRAIN)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle * GRAIN) else (low, middle)
    return low * GRAIN or None


def _counts(sequences: int) -> list[int]:
    doubled = [1]
    while doubled[-1] * 2 < sequences:
        doubled.append(doubled[-1] * 2)
    return doubled if sequences == 1 else [*doubled, sequences]
