"""What a service on a host is right now, by its unit. Pure."""

from __future__ import annotations

from meshctl.observe.status import State, Status
from meshctl.spec.model import Service
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.unit import UnitSeen
from meshctl.targets.podman.readings.value import Known, Unknown

STATES: dict[str, State] = {
    "active": "READY",
    "activating": "DEGRADED",
    "reloading": "DEGRADED",
    "deactivating": "DEGRADED",
    "failed": "FAILED",
    "inactive": "STOPPED",
}
"""By what systemd calls a unit's ActiveState. A unit on its way up is not ours to call deploying:
it may be one that restarts again and again."""
UNPROVEN = "its unit alone was looked at: releases on hosts come in a later version"


def unreached(key: str, service: Service, target: str, why: str) -> Status:
    """A host that does not answer is UNKNOWN, never STOPPED."""
    note = (f"not observed: {why}",)
    return Status(
        name=key, target=target, role=service.role, state="UNKNOWN", drift=None, notes=note
    )


def host_status(key: str, service: Service, target: str, seen: HostSeen) -> Status:
    """What systemd says of NAME.service, and why it failed where that is known."""
    name = f"{service.name or key}.service"
    if isinstance(seen.units, Unknown):
        return unreached(key, service, target, f"{name}: {seen.units.reason}")
    unit = next((one for one in seen.units.value if one.name == name), None)
    absent = unit is None or unit.load == "not-found"
    state: State = "STOPPED" if unit is None or absent else STATES.get(unit.active, "UNKNOWN")
    notes = (f"there is no {name}",) if unit is None or absent else _notes(unit)
    return Status(name=key, target=target, role=service.role, state=state, drift=None, notes=notes)


def _notes(unit: UnitSeen) -> tuple[str, ...]:
    notes = [UNPROVEN]
    if isinstance(unit.restarts, Known) and unit.restarts.value:
        notes.append(f"{unit.name} was restarted {unit.restarts.value} times since it was loaded")
    if unit.cause:
        remedy = f": {unit.cause.remedy}" if unit.cause.remedy else ""
        notes.append(unit.cause.line + remedy)
    return tuple(notes)
