"""Several things at once: in order, each once, and nobody waits for what is of no use any more."""

from __future__ import annotations

import threading

import pytest

from meshctl.errors import Unreachable
from meshctl.outside.several import several


def test_answers_come_in_the_order_of_the_questions_however_late_the_first_is() -> None:
    second = threading.Event()

    def act(number: int) -> int:
        if number == 0:
            assert second.wait(10)
        if number == 1:
            second.set()
        return number * number

    assert several(act, range(20), 2) == [number * number for number in range(20)]


def test_no_more_are_under_way_than_were_allowed() -> None:
    guard, under_way, most = threading.Lock(), set[int](), []

    def act(number: int) -> None:
        with guard:
            under_way.add(number)
            most.append(len(under_way))
        threading.Event().wait(0.001)
        with guard:
            under_way.remove(number)

    several(act, range(30), 3)

    assert len(most) == 30
    assert max(most) <= 3


def test_an_error_is_raised_without_waiting_for_the_others() -> None:
    over, finished = threading.Event(), []

    def act(number: int) -> None:
        if number == 0:
            raise Unreachable("silent", hint="wait")
        over.wait(20)
        finished.append(number)

    with pytest.raises(Unreachable, match="silent"):
        several(act, range(4), 2)

    assert finished == []
    over.set()


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_single_thing_is_asked_in_the_thread_that_asks(at_once: int) -> None:
    assert several(lambda _: threading.current_thread(), ["one"], at_once) == [
        threading.current_thread()
    ]
