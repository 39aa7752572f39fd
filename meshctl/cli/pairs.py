"""Which services are meant, on which of their targets."""

from __future__ import annotations

from meshctl.errors import Refused, UsageError
from meshctl.spec.model import CloudRunTarget, Fleet, Target
from meshctl.spec.near import near

Pair = tuple[str, str]
"""A service's key and the name of one of its targets."""


def pairs(fleet: Fleet, keys: list[str] | None) -> list[Pair]:
    """Every (service, target) that is meant; all of the fleet when none is named.

    Raises UsageError for an unknown service, with near names.
    """
    for key in keys or ():
        if key not in fleet.services:
            raise UsageError(
                f"no service named {key!r}", hint=near(key, fleet.services), place=fleet.file
            )
    wanted = list(dict.fromkeys(keys or fleet.services))
    if not wanted:
        raise UsageError("the fleet declares no services", place=fleet.file)
    return [(key, target) for key in wanted for target in fleet.services[key].target]


def only_pair(fleet: Fleet, key: str) -> Pair:
    """The one target of a service. Raises UsageError where there are several."""
    found = pairs(fleet, [key])
    if len(found) > 1:
        raise several_targets(key, [target for _, target in found])
    return found[0]


def several_targets(key: str, targets: list[str]) -> UsageError:
    """The error for a verb that is about one service on one target."""
    return UsageError(
        f"{key} runs on several targets: {', '.join(targets)}",
        hint=f"give each target a service of its own, with `like: {key}`",
    )


def place_of(fleet: Fleet, pair: Pair) -> Target:
    """The declared target of a service."""
    return fleet.targets[pair[1]]


def region_of(fleet: Fleet, pair: Pair) -> CloudRunTarget:
    """The same for what only Cloud Run has. Raises Refused for a podman host."""
    place = fleet.targets[pair[1]]
    if not isinstance(place, CloudRunTarget):
        raise Refused(
            f"{pair[1]} is a podman host, and this is about Cloud Run",
            place=fleet.place(f"targets.{pair[1]}"),
            hint=f"`meshctl status {pair[0]}`, or `meshctl host check {pair[1]}` for the host",
        )
    return place
