"""Says what state is kept by: a region or a host, whatever a fleet calls it. Pure.

A target's name is a fleet's own: two fleets may mean one region by two names, or two projects by
one. Locks and journals are kept by what is really there, so that the first two share them and the
second two never do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NewType

from pydantic import TypeAdapter

from meshctl.spec.model import CloudRunTarget, Target

Site = NewType("Site", str)
"""`my-project:us-central1`. No target's name holds a colon: none is mistaken for a site."""


def site_of(place: Target) -> Site:
    """The site of a declared target. An embedded cloud is kept like a real one, by the project and
    region that it was given; a host by the name that ssh is given, and the units of a user apart
    from those of the system. Two names of one host are two sites: nobody can tell them apart."""
    if isinstance(place, CloudRunTarget):
        return Site(f"{place.project}:{place.region}")
    who, _, host = place.address.rpartition("@")
    whose = (_plain(who) or "user") if place.user else "system"
    return Site(f"{whose}:{_plain(host)}")


def _plain(text: str) -> str:
    """What may be part of a path, whatever else there is by its number."""
    return re.sub(r"[^A-Za-z0-9._-]", lambda sign: f"%{ord(sign[0]):02X}", text)


def place_in(opening: Mapping[str, Any]) -> Target:
    """Where a run was begun, as its first event says. Raises ValidationError."""
    place: Target = TypeAdapter(Target).validate_python(opening.get("place"))
    return place
