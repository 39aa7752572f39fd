"""Says whether a request that an engine lost may be sent again. Pure.

Only before the first byte of an answer, and only while the model still has its engine: the surface
sees to both. What is counted here is how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

DEATHS = 2
"""Engines a request may lose after it was handed over, and be sent again: the third may well have
died of it."""


@dataclass(frozen=True)
class Tries:
    """What one request has been through; `left` is how often it may still be sent again."""

    left: int
    deaths: int = 0

    @property
    def fresh(self) -> bool:
        """Whether it may go only over a new connection: who kept one, may have lost them all."""
        return self.deaths > 0

    def after_stale(self) -> Tries:
        """A kept connection ended without a byte. Most likely nobody took the request, so it goes
        out again at once and whatever was set; but it may have been taken, and counts as that."""
        return replace(self, deaths=self.deaths + 1)

    def after_refusal(self) -> Tries | None:
        """Nobody took it: no connection, or an engine that is not there. None: give up."""
        return replace(self, left=self.left - 1) if self.left > 0 else None

    def after_death(self) -> Tries | None:
        """It was taken, and the connection ended without a byte. None: give up."""
        if self.deaths >= DEATHS:
            return None
        again = self.after_refusal()
        return replace(again, deaths=self.deaths + 1) if again else None
