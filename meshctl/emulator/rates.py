"""How many requests a minute Cloud Run takes from a project and region (facts s9); a setting."""

from __future__ import annotations

import re
import time
from collections import defaultdict, deque
from collections.abc import Callable

from meshctl.emulator.failures import ApiError
from meshctl.emulator.settings import Settings

WINDOW_S = 60.0
_RUN = re.compile(r"^/v2/projects/([^/]+)/locations/([^/]+)/")


class Rates:
    """Counts the requests of the last minute; reads and writes have limits of their own."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._taken: dict[tuple[str, ...], deque[float]] = defaultdict(deque)

    def take(self, method: str, path: str) -> None:
        """Count one request; ApiError 429 when it is one too many."""
        found = _RUN.match(path)
        kind = "Read" if method == "GET" else "Write"
        most = self._most(kind)
        if not found or not most:
            return
        now, taken = self._clock(), self._taken[kind, *found.groups()]
        while taken and taken[0] <= now - WINDOW_S:
            taken.popleft()
        if len(taken) >= most:
            raise ApiError(
                "RESOURCE_EXHAUSTED",
                f"Quota exceeded for quota metric '{kind} requests' and limit '{kind} requests per "
                "minute per region' of service 'run.googleapis.com'.",
            )
        taken.append(now)

    def _most(self, kind: str) -> int:
        settings = self._settings
        return settings.reads_per_minute if kind == "Read" else settings.writes_per_minute
