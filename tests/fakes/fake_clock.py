"""A clock that moves only when somebody sleeps, or a test says so."""

from __future__ import annotations

import datetime
from collections.abc import Callable

START = datetime.datetime(2026, 11, 30, 20, 45, tzinfo=datetime.UTC)


class FakeClock:
    """`slept` holds every wait that was asked for, in order; `whenever_slept` hears of each."""

    def __init__(
        self,
        start: datetime.datetime = START,
        whenever_slept: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.start = start
        self.slept: list[float] = []
        self._passed_s = 0.0
        self._whenever_slept = whenever_slept

    def now(self) -> datetime.datetime:
        return self.start + datetime.timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return self._passed_s

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0, "nobody can wait backwards"
        self.slept.append(seconds)
        self.advance(seconds)
        self._whenever_slept(seconds)

    def advance(self, seconds: float) -> None:
        """Time goes by without anybody waiting for it."""
        self._passed_s += seconds
