"""One observation for a whole command: every target once, all at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshctl.cli.doors import target_of
from meshctl.cli.pairs import Pair
from meshctl.cli.world import World
from meshctl.errors import Refused
from meshctl.outside.several import several
from meshctl.plan.observed import TargetSeen
from meshctl.spec.model import Target

if TYPE_CHECKING:
    from meshctl.targets.target import Target as Door

TARGETS_AT_ONCE = 50
"""Each a thread that waits; as many as connections are made to hosts at once."""
ACCESS_OF = 3
"""Of up to so many services `plan` asks who may call them: there is no call for several."""


Spot = tuple[str, Target]
"""A target: what a fleet calls it, and where it is."""


def observed(world: World, wanted: list[Pair], *, access: bool = True) -> dict[str, TargetSeen]:
    """What the targets of these services show."""
    fleet = world.fleet()
    names: dict[Spot, list[str]] = {}
    for key, target in sorted(wanted, key=lambda pair: pair[1]):
        place = fleet.targets[target]
        names.setdefault((target, place), []).append(fleet.services[key].name or key)
    return {spot[0]: seen for spot, seen in looked_at(world, names, access=access).items()}


def looked_at(
    world: World, names: dict[Spot, list[str]], *, access: bool = True
) -> dict[Spot, TargetSeen]:
    """What these targets show of the services of these names; no fleet is needed for it."""
    doors = {spot: target_of(world, *spot) for spot in names}
    for target, _ in names:
        world.output.progress(f"observing {target}")
    seen = several(lambda s: _observed(doors[s], names[s], access), names, TARGETS_AT_ONCE)
    return dict(zip(names, seen, strict=True))


def _observed(door: Door, services: list[str], access: bool) -> TargetSeen:
    """One target; a host that lets nobody in, or whose key is not the known one, hides no other."""
    try:
        return door.observe(services, access=access)
    except Refused as no:
        return TargetSeen(name=door.name, services={}, unknown=no.message)
