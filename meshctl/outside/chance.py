"""Draws what must be unique, or spread out, and need not be secret."""

from __future__ import annotations

import random

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Lowercase letters and digits that nobody mistakes for each other."""


def salt() -> str:
    """Four letters: enough to keep apart the runs of one service within one second."""
    return "".join(random.SystemRandom().choices(LETTERS, k=4))


def jitter() -> float:
    """Between 0 and 1: spreads out the tries of those who failed at the same moment."""
    return random.SystemRandom().random()
