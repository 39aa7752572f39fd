"""What a request and a word cost a proxy, in microseconds of its core."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Coroutine, Sequence

from .load import Load, streams, unary
from .subjects import Subject

REQUESTS, AT_ONCE = 6000, 16
STREAMS, WORDS = 60, 200
SLOW = {"litellm": 20}
"""So many times fewer of them, where it would take minutes; a cost is per piece all the same."""

Cost = Callable[[Subject], float]


def request_us(subject: Subject) -> float:
    """One completion that is no stream, of 16 at once."""
    count = REQUESTS // SLOW.get(subject.name, 1)
    return _cost_us(subject, unary(subject.port, count, AT_ONCE))


def word_us(subject: Subject) -> float:
    """One word of 60 streams at 100 words a second each, the opening of the streams included."""
    count = STREAMS // SLOW.get(subject.name, 1)
    return _cost_us(subject, streams(subject.port, count, WORDS))


def medians(cost: Cost, subjects: Sequence[Subject], rounds: int) -> dict[str, float]:
    """The median cost of each, measured in turn, A B C A B C; the first round does not count."""
    seen: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    for _ in range(rounds + 1):
        for subject in subjects:
            seen[subject.name].append(cost(subject))
    return {name: statistics.median(costs[1:]) for name, costs in seen.items()}


def added_ms(subject: Subject, direct: int, count: int) -> float:
    """What the proxy adds to the median answer, one request after the other; both in turn."""
    near: list[float] = []
    far: list[float] = []
    for _ in range(10):
        far += asyncio.run(unary(subject.port, count // 10, 1)).latencies_s
        near += asyncio.run(unary(direct, count // 10, 1)).latencies_s
    return (statistics.median(far) - statistics.median(near)) * 1000


def _cost_us(subject: Subject, work: Coroutine[object, object, Load]) -> float:
    before = subject.cpu_s()
    load = asyncio.run(work)
    return (subject.cpu_s() - before) / load.count * 1e6
