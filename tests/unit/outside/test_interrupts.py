"""Ctrl-C is counted, not obeyed: a rollout asks about it between two calls."""

from __future__ import annotations

import os
import signal
import time

import pytest

from meshctl.errors import Interrupted
from meshctl.outside.interrupts import Interrupts, watched


def test_nobody_asked_to_stop() -> None:
    interrupts = Interrupts()

    interrupts.check()
    assert not interrupts.insisted


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_the_second_insists(sign: int) -> None:
    before = signal.getsignal(sign)
    with watched() as interrupts:
        os.kill(os.getpid(), sign)
        with pytest.raises(Interrupted):
            interrupts.check()
        assert not interrupts.insisted

        os.kill(os.getpid(), sign)
        assert interrupts.insisted

    assert signal.getsignal(sign) == before


def test_a_time_limit_counts_once_and_ends_with_the_block() -> None:
    with watched(timeout_s=0.01) as interrupts:
        while not interrupts.count:
            time.sleep(0.001)

    assert interrupts.count == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
