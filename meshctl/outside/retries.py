"""When a call to the cloud is made again, and how long is waited before it: the one policy.

| what came back              | after a read         | after a write                             |
|-----------------------------|----------------------|-------------------------------------------|
| nothing, 429, 5xx, no JSON  | the same read again  | read, then decide whether to write        |
| 409 ABORTED                 | the same read again  | read, plan again, say what changed        |
| 400, 401, 403, 404          | told at once         | told at once                              |
| an operation that failed    |                      | read whether it came about, else told     |

A write is never sent a second time but on top of a new reading that says it is still wanted, and
with that reading's etag. Waits double, are shortened by up to a half at random, and are never
shorter than the `Retry-After` of an answer. Each is told of under -v.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from meshctl.errors import MeshctlError
from meshctl.outside import chance
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import Conflict, LostAnswer

T = TypeVar("T")
Again = Callable[[MeshctlError], None]
"""Waits before the next try, or raises the error where there is none."""


@dataclass(frozen=True)
class Bounds:
    """How often something is tried in all, and how long is waited between the tries together."""

    tries: int
    first_s: float = 0.2
    longest_s: float = 10.0
    together_s: float = 60.0


READING = Bounds(tries=5)
"""3 s at most: whoever asks for a status wants to know soon that a place does not answer."""
WRITING = Bounds(tries=6)
"""6 s at most, but for a `Retry-After`: a rollout is worth more patience than a question."""


@dataclass(frozen=True)
class Patience:
    """The policy with a clock to wait on, chance to draw from, and somebody to tell."""

    clock: Clock
    note: Callable[[str], None] = lambda _: None
    jitter: Callable[[], float] = chance.jitter

    def read(self, call: Callable[[], T]) -> T:
        """The answer to a call that changes nothing. Raises what the last try raised."""
        for again in self.tries(READING):
            try:
                return call()
            except (LostAnswer, Conflict) as error:
                again(error)
        raise AssertionError("unreachable: the last try raises")

    def tries(self, bounds: Bounds = WRITING) -> Iterator[Again]:
        """One for each try; what is done in it must begin with reading."""
        waited: list[float] = []
        for number in range(1, bounds.tries + 1):
            yield functools.partial(self._again, bounds, number, waited)

    def _again(self, bounds: Bounds, number: int, waited: list[float], error: MeshctlError) -> None:
        pause = max(self._pause(bounds, number), asked_to_wait_s(error))
        if number == bounds.tries or sum(waited) + pause > bounds.together_s:
            raise error
        told = f"try {number + 1} of {bounds.tries} in {pause:.1f} s: {error.message}"
        self.note(told)
        waited.append(pause)
        self.clock.sleep(pause)

    def _pause(self, bounds: Bounds, number: int) -> float:
        doubled: float = min(bounds.first_s * 2 ** (number - 1), bounds.longest_s)
        return doubled * (1 - self.jitter() / 2)


def asked_to_wait_s(error: MeshctlError) -> float:
    """What the answer's `Retry-After` asked for, in seconds; 0 where it asked for nothing."""
    return error.retry_after_s if isinstance(error, LostAnswer) else 0.0
