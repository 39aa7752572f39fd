"""Medians with their intervals, and whether two things differ. Pure.

Chance is drawn from a fixed sequence, so that whoever reads a run again sees the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Literal

Result = Literal["faster", "slower", "none"]
RESAMPLES = 2000
COVERED = 0.95
"""The share of intervals of a median that would hold the true one, were there many values; of five
values the bootstrap covers less, which is why no comparison rests on it."""
FALSE_ALARMS = 0.01
"""How often a comparison of equal things calls them different."""
_T = (
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
)  # fmt: skip
"""Student's t at 0.995 for 1 to 20 degrees of freedom; more are taken for 20, which is careful."""
_T_POWER = 0.95
"""Student's t at 0.8 for four degrees of freedom or more, rounded up: an effect is detectable when
four runs of five would have found it."""


@dataclass(frozen=True)
class Measure:
    """A median, its bootstrap interval and how many values it is of."""

    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Difference:
    """How A compares with B, as shares: 0.05 is A five percent above B.

    `detectable` is the smallest difference that four runs of five like this one would have found.
    """

    result: Result
    difference: float
    low: float
    high: float
    detectable: float
    n: int


def measure(values: Sequence[float]) -> Measure | None:
    """None of no values."""
    if not values:
        return None
    draws = _numbers(len(values))
    medians = sorted(
        median([values[next(draws)] for _ in values]) for _ in range(RESAMPLES if values[1:] else 1)
    )
    cut = int(len(medians) * (1 - COVERED) / 2)
    return Measure(median(values), medians[cut], medians[-1 - cut], len(values))


def paired(a: Sequence[float], b: Sequence[float]) -> Difference | None:
    """Of rates measured in turns, so that whatever drifts strikes both of a pair; None where fewer
    than two pairs are there. Ratios, not differences: machines are slower by a share."""
    logs = [math.log(one / other) for one, other in zip(a, b, strict=True)]
    if len(logs) < 2:
        return None
    return _judged(mean(logs), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1, len(logs))


def apart(a: Sequence[float], b: Sequence[float]) -> Difference | None:
    """The same of rates measured at other times, which no pairing can help."""
    if min(len(a), len(b)) < 2:
        return None
    one, other = [math.log(x) for x in a], [math.log(x) for x in b]
    error = math.sqrt(stdev(one) ** 2 / len(one) + stdev(other) ** 2 / len(other))
    fewer = min(len(one), len(other))
    return _judged(mean(one) - mean(other), error, fewer - 1, fewer)


def _judged(middle: float, error: float, freedom: int, n: int) -> Difference:
    t = _T[min(freedom, len(_T)) - 1]
    low, high = middle - t * error, middle + t * error
    result: Result = "faster" if low > 0 else "slower" if high < 0 else "none"
    return Difference(
        result=result,
        difference=math.expm1(middle),
        low=math.expm1(low),
        high=math.expm1(high),
        detectable=math.expm1((t + _T_POWER) * error),
        n=n,
    )


def _numbers(below: int) -> Iterator[int]:
    """splitmix64: whole numbers from 0 on, evenly spread; always the same ones."""
    state, mask = 0x9E3779B97F4A7C15, 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield (z ^ (z >> 31)) % below
