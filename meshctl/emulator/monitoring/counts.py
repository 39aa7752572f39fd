"""Requests per minute and instances per minute of each revision, within a bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meshctl.emulator import disk
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.moment import now_us

MINUTE_US = 60_000_000
_SAVE_EVERY_US = 2_000_000
_SAMPLES_KEPT = 120  # minutes of instance counts; they are about now, and not kept over a restart
Minutes = dict[int, int]


class Counts:
    """Requests are kept on disk (a kill loses the last seconds), instances in memory only."""

    def __init__(self, file: Path, points_kept: int) -> None:
        self._file, self._kept = file, points_kept
        self._requests: dict[tuple[Origin, str], Minutes] = {}
        self._instances: dict[tuple[Origin, str], Minutes] = {}
        self._saved_us, self._dirty = now_us(), False
        for *names, code, minutes in disk.read_json(file, []):
            self._requests[Origin(*names), code] = {int(m): n for m, n in minutes.items()}

    def request(self, origin: Origin, status: int) -> None:
        """One more request has ended."""
        self._add(self._requests, (origin, str(status)), 1, self._kept)
        self._dirty = True

    def instances(self, origin: Origin, active: int, idle: int) -> None:
        """How many instances there are now; the last word of a minute stands."""
        for state, count in (("active", active), ("idle", idle)):
            minutes = self._instances.setdefault((origin, state), {})
            minutes.pop(now_us() // MINUTE_US, None)
            self._add(self._instances, (origin, state), count, _SAMPLES_KEPT)

    @staticmethod
    def _add(
        table: dict[tuple[Origin, str], Minutes], key: tuple[Origin, str], count: int, kept: int
    ) -> None:
        minutes = table.setdefault(key, {})
        minute = now_us() // MINUTE_US
        minutes[minute] = minutes.get(minute, 0) + count
        while len(minutes) > kept:
            del minutes[next(iter(minutes))]  # the oldest: minutes come in order

    def series(self, metric: str) -> Iterator[tuple[Origin, str, Minutes]]:
        """(revision, label, minute -> value) of `requests` (by code) or `instances` (by state)."""
        table = self._requests if metric == "requests" else self._instances
        for (origin, label), minutes in sorted(table.items()):
            yield origin, label, minutes

    def save_if_due(self) -> None:
        """Write down what is new, every few seconds at most."""
        if self._dirty and now_us() - self._saved_us >= _SAVE_EVERY_US:
            self.save()

    def save(self) -> None:
        """Write everything down."""
        rows: list[list[Any]] = [
            [o.project, o.location, o.service, o.revision, code, minutes]
            for (o, code), minutes in self._requests.items()
        ]
        if self._dirty:
            disk.write_json(self._file, rows)
        self._saved_us, self._dirty = now_us(), False
