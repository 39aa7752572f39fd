"""Says how far something is that takes minutes: how much of it, how fast, how much longer."""

from __future__ import annotations

from meshctl.outside.clock import Clock
from meshctl.quantities import show_bytes, show_seconds
from meshctl.ui.output import Output

LINE_S = 10.0
"""Between two lines where no terminal is: often enough for a log, and not a flood."""
SHOW_S = 0.1


class Meter:
    """On a terminal one line that changes; with `lines` whole lines, whoever reads them."""

    def __init__(self, output: Output, clock: Clock, *, lines: bool) -> None:
        self.output, self.clock, self.lines = output, clock, lines
        self._what, self._began, self._first, self._due = "", 0.0, 0, 0.0

    def tell(self, what: str, done: int, total: int) -> None:
        """`done` of `total` bytes; a total of 0 is unknown."""
        now = self.clock.monotonic()
        if what != self._what:
            self._what, self._began, self._first, self._due = what, now, done, 0.0
        if now < self._due and done < total:
            return
        self._due = now + (LINE_S if self.lines else SHOW_S)
        text = self._text(done, total, now - self._began)
        if self.lines:
            self.output.say(text)
        else:
            self.output.progress(text)

    def _text(self, done: int, total: int, seconds: float) -> str:
        if not total:
            return self._what
        shown = f"{self._what}: {100 * done // total} % of {show_bytes(total)}"
        moved = done - self._first
        if seconds < 1 or moved <= 0:
            return shown
        rate = moved / seconds
        return f"{shown}, {show_bytes(round(rate))}/s, {show_seconds((total - done) / rate)} left"
