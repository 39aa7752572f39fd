"""Which fetched payloads go when another needs room: the least recently used first. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """A payload that takes room, wholly here or not yet."""

    name: str
    bytes: int
    used_at: float


def making_room(
    kept: Iterable[Kept], needed: int, limit: int, busy: Collection[str]
) -> tuple[str, ...] | None:
    """Who must go so that `needed` bytes more stay within the limit; None where that cannot be.

    Whoever is `busy` stays: a live engine uses it, or it is being fetched.
    """
    known = sorted(kept, key=lambda one: (one.used_at, one.name))
    excess = sum(one.bytes for one in known) + needed - limit
    gone: list[str] = []
    for one in known:
        if excess > 0 and one.name not in busy:
            gone.append(one.name)
            excess -= one.bytes
    return tuple(gone) if excess <= 0 else None
