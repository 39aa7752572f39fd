"""Which live service is meant by TARGET/NAME or PROJECT/REGION/NAME, and what a fleet calls it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import ValidationError

from meshctl.errors import UsageError
from meshctl.plan.entries import free_name
from meshctl.spec.model import FORMS, SERVICE_NAME, CloudRunTarget, Fleet
from meshctl.spec.near import near

HINT = "write TARGET/NAME, or PROJECT/REGION/NAME: my-project/us-central1/chat"


@dataclass(frozen=True)
class Where:
    """A service by its name on a target; `declared` says that the fleet has the target."""

    target: str
    place: CloudRunTarget
    name: str
    declared: bool

    def declared_as(self, fleet: Fleet | None) -> str | None:
        """The key under which the fleet has the service already."""
        for key, service in fleet.services.items() if fleet and self.declared else ():
            if (service.name or key) == self.name and self.target in service.target:
                return key
        return None


def where_of(fleet: Fleet | None, words: str, emulator: str | None) -> Where:
    """What is meant. Raises UsageError for an unknown target, and for what is no place."""
    *place, name = words.split("/")
    if not re.fullmatch(SERVICE_NAME, name):
        raise UsageError(f"{name!r} is no name of a service: {FORMS[SERVICE_NAME]}", hint=HINT)
    match place:
        case [target] if emulator is None:
            return Where(target, _declared(fleet, target, words), name, declared=True)
        case [project, location]:
            return _anywhere(fleet, _place(project, location, emulator), name, emulator)
        case _:
            raise UsageError(f"{words!r} does not say where the service is", hint=HINT)


def _declared(fleet: Fleet | None, target: str, words: str) -> CloudRunTarget:
    if fleet is None:
        raise UsageError(
            f"there is no fleet file, so nobody knows a target named {target!r}",
            hint="name the place itself: PROJECT/REGION/NAME; or the fleet file with -f FILE",
        )
    if target not in fleet.targets:
        raise UsageError(
            f"no target named {target!r}", hint=near(target, fleet.targets), place=fleet.file
        )
    place = fleet.targets[target]
    if not isinstance(place, CloudRunTarget):
        raise UsageError(
            f"{target} is a podman host, and this version adopts from Cloud Run",
            place=fleet.place(f"targets.{target}"),
            hint="name a target of kind cloudrun",
        )
    return place


def _place(project: str, location: str, emulator: str | None) -> CloudRunTarget:
    try:
        return CloudRunTarget.model_validate(
            {"kind": "cloudrun", "project": project, "region": location}
            | ({"emulator": emulator} if emulator is not None else {})
        )
    except ValidationError as error:
        wrong = ", ".join(str(one["loc"][0]) for one in error.errors(include_url=False))
        raise UsageError(f"{project}/{location} is no place: {wrong}", hint=HINT) from error


def _anywhere(fleet: Fleet | None, place: CloudRunTarget, name: str, emulator: str | None) -> Where:
    """The fleet's own target for that project and region, or a new one."""
    known = fleet.targets if fleet else {}
    for target, one in known.items():
        same = isinstance(one, CloudRunTarget) and (one.project, one.region) == (
            place.project, place.region,
        )  # fmt: skip
        if same and isinstance(one, CloudRunTarget) and emulator in (None, one.emulator):
            return Where(target, one, name, declared=True)
    new = free_name("local" if place.emulator else "gcp", known)
    return Where(new, place, name, declared=False)
