"""Counts what a client of the service saw, and measures its longest wait. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

REASONS_KEPT = 3


@dataclass
class Tally:
    """Every moment is in seconds of one clock, `since` the one at which the service was open."""

    since: float
    requests: int = 0
    failed: int = 0
    longest_gap_s: float = 0.0
    reasons: list[str] = field(default_factory=list)

    def good(self, at: float) -> None:
        """An answer with a token in it."""
        self.requests += 1
        self._gap(at)

    def bad(self, why: str) -> None:
        """Anything else; the first reasons are kept for the story."""
        self.requests += 1
        self.failed += 1
        if len(self.reasons) < REASONS_KEPT:
            self.reasons.append(why)

    def close(self, at: float) -> None:
        """The end counts like a good answer: a service that fell silent has the longest gap."""
        self._gap(at)

    def _gap(self, at: float) -> None:
        self.longest_gap_s = max(self.longest_gap_s, at - self.since)
        self.since = at
