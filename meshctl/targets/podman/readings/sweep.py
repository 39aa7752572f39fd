"""What is in the way of a service on its host, as something that can be ended. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.need import Need
from meshctl.targets.podman.readings.strays import Stray
from meshctl.targets.podman.readings.value import Unknown, shown

_SEEN = re.compile(r"process (\d{1,10}) (\d{1,20}) (\S{1,250}) (managed|-) ?(.*)")
DOORS = ("sshd.service", "ssh.service", "systemd-logind.service", "dbus.service")
"""Units by which the host is reached: never stopped, and of what runs in them only what somebody
began by hand is ended."""


class Process(Frozen):
    """A running process: `start` is the kernel's, in ticks since boot, and tells it from a later
    one with the same number. `unit` is systemd's, empty where a person or another program began
    it; `managed` says that the unit is meshctl's, of whatever fleet."""

    pid: int
    start: str
    unit: str
    managed: bool
    said: str


class InTheWay(Frozen):
    """One thing that can be ended, by what it is and what it holds; `order` is what END takes."""

    kind: Literal["process", "container", "unit"]
    what: str
    holds: str
    order: str
    spared: str = ""


def processes(printed: str) -> dict[int, Process] | None:
    """By pid; None for an answer that was cut."""
    lines = printed.splitlines()
    if not lines or lines[-1] != "end":
        return None
    found = (_SEEN.fullmatch(line) for line in lines[:-1])
    return {
        int(m[1]): Process(
            pid=int(m[1]),
            start=m[2],
            unit="" if m[3] == "-" else m[3],
            managed=m[4] == "managed",
            said=shown(m[5]),
        )
        for m in found
        if m
    }


def in_the_way(
    seen: HostSeen,
    need: Need,
    strays: Iterable[Stray],
    known: dict[int, Process],
    ours: frozenset[int],
    legacy: tuple[str, ...],
) -> tuple[InTheWay, ...]:
    """Each once: strays, units and containers of earlier names, and processes that hold the word of
    `sweep.match`; never what systemd runs for a unit of ours."""
    found = [
        *_strays(seen, strays, known),
        *_legacy(seen, need, legacy),
        *(_process(one, "the word of sweep.match") for one in known.values()
          if one.pid not in ours and one.pid not in {stray.pid for stray in strays}),
    ]  # fmt: skip
    return tuple({one.order: one for one in reversed(found)}.values())[::-1]


def _strays(
    seen: HostSeen, strays: Iterable[Stray], known: dict[int, Process]
) -> Iterator[InTheWay]:
    for one in strays:
        if one.kind == "container":
            yield from _containers(seen, one.name, one.holds)
        elif one.pid in known:
            yield _process(known[one.pid], one.holds)
        else:
            why = "whose it is was not to be seen: log in as root, or look with `ss -ltnp`"
            yield InTheWay(kind="process", what=one.name, holds=one.holds, order="", spared=why)


def _process(one: Process, holds: str) -> InTheWay:
    of_a_door = one.unit in DOORS
    spared = f"{one.unit} is a release of meshctl, of another fleet" if one.managed else ""
    if of_a_door and "sshd" in one.said.partition(" ")[0]:
        spared = f"{one.unit} is how the host is reached"
    if spared or (one.unit and not of_a_door and not one.unit.startswith("user@")):
        what = f"{one.unit} ({one.said})"
        return InTheWay(kind="unit", what=what, holds=holds, order=f"unit:{one.unit}",
                        spared=spared)  # fmt: skip
    what = f"pid {one.pid}: {one.said}"
    return InTheWay(kind="process", what=what, holds=holds, order=f"process:{one.pid}:{one.start}")


def _legacy(seen: HostSeen, need: Need, legacy: tuple[str, ...]) -> Iterator[InTheWay]:
    units = () if isinstance(seen.units, Unknown) else seen.units.value
    for name in legacy:
        unit = f"{name.removesuffix('.service')}.service"
        for one in units:
            if one.name == unit != need.unit and one.load == "loaded" and one.active != "inactive":
                holds = f"is {one.active}, and called legacy"
                yield InTheWay(kind="unit", what=unit, holds=holds, order=f"unit:{unit}")
        yield from _containers(seen, name, "is called legacy")


def _containers(seen: HostSeen, name: str, holds: str) -> Iterator[InTheWay]:
    listed = () if isinstance(seen.containers, Unknown) else seen.containers.value
    for one in listed:
        if one.name == name and re.fullmatch(r"[0-9a-f]{12,64}", one.id):
            what = f"{name}, {one.state}, of {one.image}"
            yield InTheWay(kind="container", what=what, holds=holds, order=f"container:{one.id}")
