"""Says what state is kept by: a project and its region, whatever a fleet calls them. Pure.

A target's name is a fleet's own: two fleets may mean one region by two names, or two projects by
one. Locks and journals are kept by what is really there, so that the first two share them and the
second two never do.
"""

from __future__ import annotations

from typing import NewType

from meshctl.spec.model import CloudRunTarget

Site = NewType("Site", str)
"""`my-project:us-central1`. No target's name holds a colon: none is mistaken for a site."""


def site_of(place: CloudRunTarget) -> Site:
    """The site of a declared target. An embedded cloud is kept like a real one, by the project and
    region that it was given."""
    return Site(f"{place.project}:{place.region}")
