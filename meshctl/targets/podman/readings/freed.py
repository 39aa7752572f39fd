"""Whether the memory of what was stopped is really free, judged by readings of the host. Pure.

systemd calls a unit stopped once its processes are gone; a driver may take seconds more to give a
card's memory back, and whoever starts then dies of it.
"""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.value import Known, Unknown

NOISE = 64 * 2**20
"""Bytes by which what a card holds goes up and down by itself: displays and drivers."""


def still_held(earlier: HostSeen, now: HostSeen, pids: frozenset[int]) -> str:
    """Why it is too early, or "": a process of it has memory of a card, or a card still gives some
    back. Of AMD's cards nobody says who holds them, so that it has come to rest must do."""
    holders = [app for app in now.apps if app.pid in pids]
    if holders:
        return ", ".join(f"{app.name} (pid {app.pid}) still has card {app.card}" for app in holders)
    if isinstance(earlier.cards, Unknown) or isinstance(now.cards, Unknown):
        return ""
    before = _used(earlier)
    for card, used in _used(now).items():
        gave = before.get(card, 0) - used
        if gave > NOISE:
            return f"card {card} gave back {show_bytes(gave)} since the last reading"
    return ""


def held_bytes(seen: HostSeen) -> dict[str, int] | None:
    """Bytes in use by card; None where nobody can read them."""
    return None if isinstance(seen.cards, Unknown) else _used(seen)


def _used(seen: HostSeen) -> dict[str, int]:
    """A card that is a part of the processor holds main memory."""
    pools = {} if isinstance(seen.cards, Unknown) else {c.id: c.pool() for c in seen.cards.value}
    return {card: one.value.used_bytes for card, one in pools.items() if isinstance(one, Known)}
