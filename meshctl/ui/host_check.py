"""The JSON document of `host check`, and how a reading becomes one. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.gates import gates
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.need import GateFinding, Need, Verdict, unclear
from meshctl.targets.podman.readings.strays import Stray, strays
from meshctl.targets.podman.readings.unit import UnitSeen
from meshctl.targets.podman.readings.value import Known
from meshctl.ui.documents import Document


class CheckedService(Frozen):
    """One service on one host; `unit` is null where systemd has none of that name."""

    name: str
    verdict: Verdict
    unit: str | None = Field(description="its state, as systemd calls it")
    restarts: int | None
    cause: str = Field(description="why its unit failed, where that is known")
    gates: tuple[GateFinding, ...]
    strays: tuple[Stray, ...]
    unread: tuple[str, ...] = Field(description="where strays could not be looked for")


class CheckedHost(Frozen):
    """One host and the services that the fleet wants there."""

    name: str
    address: str
    state: Literal["up", "unreachable", "refused"]
    why: str
    hint: str
    services: tuple[CheckedService, ...]


class HostCheck(Document):
    """`host check`: whether hosts can take what the fleet file wants of them."""

    kind: Literal["host-check/v1"] = "host-check/v1"
    hosts: tuple[CheckedHost, ...]


def checked_service(seen: HostSeen, need: Need, ours: frozenset[int]) -> CheckedService:
    """Every gate that the fleet file alone can tell of, the unit, and who is in the way."""
    unit = _unit(seen, need.unit)
    found, in_the_way = (*_unread(seen), *gates(seen, need, ours)), strays(seen, need, ours)
    failed = unit is not None and unit.active == "failed"
    verdicts = {gate.verdict for gate in found} | ({"fail"} if failed else set())
    verdict: Verdict = "fail" if "fail" in verdicts else (
        "unclear" if "unclear" in verdicts else "pass"
    )  # fmt: skip
    restarts = unit.restarts if unit else None
    return CheckedService(
        name=need.service,
        verdict=verdict,
        unit=unit.active if unit else None,
        restarts=restarts.value if isinstance(restarts, Known) else None,
        cause=_cause(unit),
        gates=found,
        strays=in_the_way.found,
        unread=in_the_way.unread,
    )


def _unread(seen: HostSeen) -> tuple[GateFinding, ...]:
    """A host whose units nobody could read is not one without units."""
    if isinstance(seen.units, Known):
        return ()
    return (unclear("unit", seen.units, "look at systemd: `systemctl status`"),)


def _unit(seen: HostSeen, name: str) -> UnitSeen | None:
    units = seen.units.value if isinstance(seen.units, Known) else ()
    return next((one for one in units if one.name == name and one.load != "not-found"), None)


def _cause(unit: UnitSeen | None) -> str:
    if unit is None or unit.cause is None:
        return ""
    remedy = f": {unit.cause.remedy}" if unit.cause.remedy else ""
    return unit.cause.line + remedy
