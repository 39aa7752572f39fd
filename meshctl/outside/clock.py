"""Reads the clock and waits."""

from __future__ import annotations

import datetime
import time
from typing import Protocol


class Clock(Protocol):
    """What the rest of meshctl may know of time."""

    def now(self) -> datetime.datetime:
        """The time now, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow; for measuring, not for records."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


class SystemClock:
    """The real clock."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def rfc3339(moment: datetime.datetime) -> str:
    """`2026-11-30T20:45:12.345678Z`, the one form in which meshctl records a time."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> datetime.datetime:
    """The time a record carries. Raises ValueError when it is none."""
    return datetime.datetime.fromisoformat(text)
