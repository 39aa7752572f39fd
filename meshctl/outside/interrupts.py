"""Turns Ctrl-C, SIGTERM and --timeout into something a rollout can ask about between two calls."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from meshctl.errors import Interrupted


class Interrupts:
    """How often we were asked to stop: once means finish and undo, twice means stop undoing."""

    def __init__(self) -> None:
        self.count = 0

    def check(self) -> None:
        """Raises Interrupted when we were asked to stop at least once."""
        if self.count:
            raise Interrupted("interrupted")

    @property
    def insisted(self) -> bool:
        return self.count > 1


@contextlib.contextmanager
def watched(timeout_s: float | None = None) -> Iterator[Interrupts]:
    """Count SIGINT and SIGTERM while the block runs, instead of dying from them; a time limit
    counts once when it is over."""
    interrupts = Interrupts()

    def count(_signal: int, _frame: FrameType | None) -> None:
        interrupts.count += 1

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {sign: signal.signal(sign, count) for sign in signals}
    signal.setitimer(signal.ITIMER_REAL, timeout_s or 0)
    try:
        yield interrupts
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for sign, handler in before.items():
            signal.signal(sign, handler)


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """While somebody is asked, a signal or a time limit ends the question at once, by
    KeyboardInterrupt: waiting for an answer would go on over a signal that is only counted."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {sign: signal.signal(sign, signal.default_int_handler) for sign in signals}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
