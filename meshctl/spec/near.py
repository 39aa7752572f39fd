"""Names that look like the one that was written, for people who mistyped. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 64
_MANY = 200
"""Comparing letter by letter is slow; among more names only those with the same start are tried."""

_SLIP = 0.9
"""So alike are two names of which one has a letter too many or too few: no other is meant."""


def near(name: str, known: Iterable[str]) -> str:
    """`did you mean "image"?`, or the names there are, or that there are none."""
    names = sorted(set(known))
    if not names:
        return "there are none"
    likely = _candidates(name, names)
    slip = get_close_matches(name[:_LONGEST], likely, n=1, cutoff=_SLIP)
    close = slip or get_close_matches(name[:_LONGEST], likely, n=3)
    if close:
        quoted = [f'"{match}"' for match in close]
        return f"did you mean {' or '.join(quoted)}?"
    few = ", ".join(names[:12])
    return f"known: {few}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _candidates(name: str, names: list[str]) -> list[str]:
    if len(names) <= _MANY:
        return names
    return [known for known in names if known[:1] == name[:1] and abs(len(known) - len(name)) < 3]
