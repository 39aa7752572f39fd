"""How programs of no known family complain. Pure."""

from __future__ import annotations

from re import Pattern, compile

COMPLAINT = r"^(\w+\.)*\w*(Error|Exception): |(?i:^(error|fatal|panic)\b)|^terminate called"
"""A Python exception, or the plain word."""


def union(*patterns: str) -> Pattern[str]:
    """One pattern that finds any of these."""
    return compile("|".join(patterns))
