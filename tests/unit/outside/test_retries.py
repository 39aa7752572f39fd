"""The one policy of trying again: what is repeated, how long is waited, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.gcp import AlreadyExists, ApiError, Conflict, LostAnswer, NotFound
from meshctl.outside.retries import READING, WRITING, Bounds, Patience
from tests.fakes.fake_clock import FakeClock


class Bench:
    """Patience on a fake clock, without chance unless asked for."""

    def __init__(self, jitter: float = 0.0) -> None:
        self.clock, self.notes = FakeClock(), list[str]()
        self.patience = Patience(self.clock, self.notes.append, lambda: jitter)

    def read(self, *answers: Exception | str) -> str:
        """A read that is answered so, one after the other."""
        return self.patience.read(replay(*answers))


def replay(*answers: Exception | str) -> Callable[[], str]:
    left = list(answers)

    def call() -> str:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


LOST = LostAnswer("the cloud answered UNAVAILABLE: not now")


@pytest.mark.parametrize("error", [LOST, Conflict("ABORTED", "somebody wrote")])
def test_a_read_is_made_again_and_each_try_is_told(error: MeshctlError) -> None:
    bench = Bench()

    assert bench.read(error, error, "there") == "there"
    assert bench.clock.slept == pytest.approx([0.2, 0.4])
    assert bench.notes == [
        f"try 2 of 5 in 0.2 s: {error.message}", f"try 3 of 5 in 0.4 s: {error.message}",
    ]  # fmt: skip


def test_a_good_answer_is_not_talked_about() -> None:
    bench = Bench()

    assert bench.read("there") == "there"
    assert bench.notes == []


@pytest.mark.parametrize(
    "no",
    [
        NotFound("NOT_FOUND", "no such service"),
        AlreadyExists("ALREADY_EXISTS", "taken"),
        ApiError("INVALID_ARGUMENT", "wrong"),
        ApiError("PERMISSION_DENIED", "you may not"),
        Refused("no"),
        Unreachable("no credentials"),
    ],
)
def test_a_no_is_told_at_once(no: MeshctlError) -> None:
    bench = Bench()

    with pytest.raises(MeshctlError) as told:
        bench.read(no, "there")
    assert told.value is no
    assert bench.clock.slept == []


def test_who_never_answers_is_given_up_after_a_few_seconds() -> None:
    bench = Bench()

    with pytest.raises(LostAnswer):
        bench.read(*[LOST] * READING.tries)
    assert len(bench.clock.slept) == READING.tries - 1
    assert sum(bench.clock.slept) == pytest.approx(3.0)


def test_an_answer_that_asks_for_time_gets_it() -> None:
    busy = LostAnswer("the cloud answered RESOURCE_EXHAUSTED: slower", retry_after_s=7.0)
    bench = Bench()

    assert bench.read(busy, LOST, "there") == "there"
    assert bench.clock.slept == pytest.approx([7.0, 0.4])


def test_an_answer_that_asks_for_too_much_time_is_the_last_one() -> None:
    busy = LostAnswer("come back tomorrow", retry_after_s=86400.0)
    bench = Bench()

    with pytest.raises(LostAnswer, match="tomorrow"):
        bench.read(busy, "there")
    assert bench.clock.slept == []


@given(
    st.integers(1, 12),
    st.floats(0, 1),
    st.lists(st.floats(0, 100), min_size=12, max_size=12),
)
def test_tries_and_waits_are_bounded_whatever_is_answered(
    tries: int, jitter: float, asked_s: list[float]
) -> None:
    bench, bounds, made = Bench(jitter), Bounds(tries=tries), 0

    with pytest.raises(LostAnswer):
        for again in bench.patience.tries(bounds):
            made += 1
            again(LostAnswer("no", retry_after_s=asked_s[made - 1]))

    assert made <= tries
    assert sum(bench.clock.slept) <= bounds.together_s
    for wait, asked in zip(bench.clock.slept, asked_s, strict=False):
        assert asked <= wait <= max(asked, bounds.longest_s)


@given(st.floats(0, 1))
def test_chance_shortens_a_wait_by_at_most_a_half(jitter: float) -> None:
    bench = Bench(jitter)

    with pytest.raises(LostAnswer):
        for again in bench.patience.tries(WRITING):
            again(LOST)

    waits = bench.clock.slept
    assert waits == pytest.approx([0.2 * 2**n * (1 - jitter / 2) for n in range(5)])
    assert all(later > earlier for earlier, later in pairwise(waits))
