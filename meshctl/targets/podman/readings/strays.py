"""What holds a service's port, card or container name on its host and is not ours. Pure.

Ours is what systemd runs for the unit; a name or label proves nothing, for anybody can give it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.need import Need
from meshctl.targets.podman.readings.value import Unknown


class Stray(Frozen):
    """A process or container in the way, and of what."""

    kind: Literal["process", "container"]
    name: str
    pid: int | None
    holds: str


class Strays(Frozen):
    """Those found; `unread` is what could not be looked at: empty is not none."""

    found: tuple[Stray, ...]
    unread: tuple[str, ...] = ()


def strays(seen: HostSeen, need: Need, ours: frozenset[int]) -> Strays:
    """`ours`: every process of the cgroups of our units on this host, whatever their service."""
    found = (*_on_ports(seen, need, ours), *_on_cards(seen, need, ours), *_named(seen, need, ours))
    readings = {"ports": seen.listeners, "containers": seen.containers}
    unread = tuple(name for name, one in readings.items() if isinstance(one, Unknown))
    if any(card.vendor == "amd" for card in need.cards):
        unread += ("cards of AMD",)  # no tool that is asked tells who holds them
    return Strays(found=tuple(dict.fromkeys(found)), unread=unread)


def _on_ports(seen: HostSeen, need: Need, ours: frozenset[int]) -> Iterator[Stray]:
    if isinstance(seen.listeners, Unknown):
        return
    for one in seen.listeners.value:
        if one.port in need.ports and one.pid not in ours:
            yield Stray(kind="process", name=one.name or "?", pid=one.pid, holds=f"port {one.port}")


def _on_cards(seen: HostSeen, need: Need, ours: frozenset[int]) -> Iterator[Stray]:
    if any(card.vendor == "nvidia" for card in need.cards):
        for app in seen.apps:
            if app.pid not in ours:
                yield Stray(kind="process", name=app.name, pid=app.pid, holds=f"card {app.card}")


def _named(seen: HostSeen, need: Need, ours: frozenset[int]) -> Iterator[Stray]:
    """A container that is stopped holds its name and its place, but no port."""
    if isinstance(seen.containers, Unknown):
        return
    for one in seen.containers.value:
        if one.pid in ours:
            continue
        if need.container and one.name == need.container:
            yield Stray(kind="container", name=one.name, pid=one.pid, holds=f"name {one.name}")
        for port in set(one.ports) & set(need.ports) if one.state == "running" else ():
            yield Stray(kind="container", name=one.name, pid=one.pid, holds=f"port {port}")
