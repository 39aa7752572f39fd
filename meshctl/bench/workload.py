"""What is asked in a bench, in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from meshctl.errors import UsageError

Kind = Literal["warm", "decode", "prefill"]
LEAST_TOKENS = 128
"""Of the shorter answer: 32 tokens, as some tools take, are over before an engine runs evenly."""
LEAST_REPEATS = 5


@dataclass(frozen=True)
class Ask:
    """One question: about `depth` tokens of prompt, exactly `tokens` of answer. Those of one
    `repeat` are compared with each other."""

    kind: Kind
    repeat: int
    depth: int
    tokens: int


@dataclass(frozen=True)
class Workload:
    """Decode by two lengths of answer, prefill by two or more depths of prompt (or none). Raises
    UsageError for one that could not be judged."""

    lengths: tuple[int, int] = (128, 384)
    prompt_tokens: int = 64
    depths: tuple[int, ...] = (256, 768)
    repeats: int = 5

    def __post_init__(self) -> None:
        short, long = self.lengths
        if short < LEAST_TOKENS or long < 2 * short:
            raise _refused(f"--tokens {short},{long}", "128 or more, and then twice that or more")
        if self.repeats < LEAST_REPEATS:
            raise _refused(f"--repeats {self.repeats}", f"{LEAST_REPEATS} or more")
        if len(self.depths) == 1 or sorted(set(self.depths)) != list(self.depths):
            raise _refused("--depths", "two depths or more, each deeper than the one before")
        if min((self.prompt_tokens, *self.depths)) < 16:
            raise _refused("a prompt of fewer than 16 tokens", "16 or more: the salt needs ten")

    def warm(self) -> Ask:
        """What is asked until two answers in a row take about as long."""
        return Ask("warm", 0, self.prompt_tokens, self.lengths[0])

    def turns(self) -> Iterator[Ask]:
        """ABBA: what slows down or speeds up over the run strikes both alike."""
        for repeat in range(self.repeats):
            yield from _in_turn(
                [Ask("decode", repeat, self.prompt_tokens, n) for n in self.lengths], repeat
            )
            yield from _in_turn([Ask("prefill", repeat, d, 1) for d in self.depths], repeat)


def _in_turn(asks: list[Ask], repeat: int) -> list[Ask]:
    return asks[::-1] if repeat % 2 else asks


def _refused(what: str, wanted: str) -> UsageError:
    return UsageError(f"{what} cannot be judged", hint=f"say {wanted}")
