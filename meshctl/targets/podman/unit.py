"""What a unit of a host is made of, podman's or a plain one, and what both have in common. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Literal

from pydantic import Field

from meshctl.budget.devices import device_named
from meshctl.errors import Refused
from meshctl.plan.release import EnvSecret
from meshctl.plan.unit_template import OURS
from meshctl.plan.unit_text import Entry, line
from meshctl.spec.model import Frozen, Gpu, PodmanTarget, Service

RESTART_PAUSE_S = 5
"""Between an end and the next start: long enough for a driver to give a card's memory back, short
beside any load; a guess, not measured."""
OOM_SCORE = -500
"""The endpoint is what the machine is for, so the kernel ends others first; seeds' practice."""
BOOT_S = 600
"""What loads take beside reading: vLLM compiles and captures graphs in about 400 s in the seeds'
logs (6.7 minutes to a failed start); half as much again."""
SLOWEST_READ = 100 * 10**6
"""Bytes a second: a hard disk, or a gigabit link to the payloads. Flash is 10 to 50 times faster;
a time that is too long delays a verdict, one that is too short ends loads that go well."""


READY = "/health"
"""What llama-server, vLLM and the mesh answer with 200 once they serve; facts/serving section 2."""


class Unit(Frozen):
    """One unit. `folders`: where each payload lies on the host. `env` holds no secret: those are
    `secrets`, of which a unit only ever holds names. `ports` are podman's, IP:HOST:CONTAINER."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$")
    fleet: str
    key: str
    service: Service
    target: PodmanTarget
    image: str = ""
    folders: Mapping[str, str] = {}
    ports: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    secrets: tuple[EnvSecret, ...] = ()
    labels: Mapping[str, str] = {}
    weights_bytes: int = 0


def start_timeout_s(unit: Unit) -> int:
    """TimeoutStartSec: BOOT_S and the weights at SLOWEST_READ, or the longest load_timeout."""
    told = max((m.load_timeout or 0 for m in unit.service.models.values()), default=0)
    return ceil(max(BOOT_S + unit.weights_bytes / SLOWEST_READ, told))


def labels(unit: Unit) -> dict[str, str]:
    """Whose it is; ours win over what else was asked for."""
    ours = {
        "managed-by": "meshctl",
        "meshctl-fleet": unit.fleet,
        "meshctl-service": unit.key,
    }
    return {**unit.labels, **ours}


def mounts(unit: Unit) -> Iterator[tuple[str, str]]:
    """(folder of the host, path inside) of every mount.

    Raises Refused for a payload whose folder on the host is not known.
    """
    for path, value in sorted(unit.service.mounts.items()):
        payload = value.removeprefix("payload:")
        if payload == value:
            yield value, path
        elif payload in unit.folders:
            yield unit.folders[payload], path
        else:
            message = f"{unit.name}: nobody said where payload {payload} lies on the host"
            raise Refused(message, hint=f"`meshctl payload fetch {payload}` puts it there")


def vendors(target: PodmanTarget) -> tuple[str, ...]:
    """Whose cards the host has, sorted.

    Raises Refused for a card whose vendor is neither said nor known.
    """
    return tuple(sorted({vendor_of(card) for card in target.gpus}))


_AMD = ("MI", "RX-", "RDNA", "W7", "R9", "Strix")


def vendor_of(card: Gpu) -> Literal["nvidia", "amd"]:
    """Raises Refused where it is neither said nor known."""
    if card.vendor:
        return card.vendor
    known = device_named(card.name)
    if known is None:
        message = f"whose card {card.name} is, is not known, so no device can be passed in"
        raise Refused(message, hint="write `vendor: nvidia` or `amd` beside the card's name")
    return "amd" if known.name.startswith(_AMD) else "nvidia"


def head(unit: Unit) -> list[Entry]:
    """The [Unit] section. No start limit: after five quick faults systemd would give up for good
    (Result=start-limit-hit), and a machine that nobody watches would stay down."""
    return [
        Entry("Unit", "Description", line(f"{unit.key}, by meshctl")),
        Entry("Unit", "StartLimitIntervalSec", "0"),
    ]


def standing(unit: Unit) -> list[Entry]:
    """How it stands up again. `always`: vLLM exits 0 when its engine dies after readiness, which
    `on-failure` takes for a wish; facts/serving section 0."""
    entries = [
        Entry("Service", "Restart", "always"),
        Entry("Service", "RestartSec", str(RESTART_PAUSE_S)),
        Entry("Service", "TimeoutStartSec", str(start_timeout_s(unit))),
    ]
    if not unit.target.user:  # the kernel lets only root go below what it has
        entries.append(Entry("Service", "OOMScoreAdjust", str(OOM_SCORE)))
    return entries


def tail(unit: Unit) -> list[Entry]:
    """Started at boot. A user's units start then only with linger."""
    wanted = "default.target" if unit.target.user else "multi-user.target"
    return [Entry("Install", "WantedBy", wanted)]


def about(unit: Unit) -> list[Entry]:
    """What a rollback has to know that has no fleet file: where it listens, and what answers there
    once it serves. systemd passes over sections of this kind."""
    ready = unit.service.probe.path or READY
    said = [Entry(OURS, "listens", line(place)) for place in published(unit)]
    return [Entry(OURS, "ready", line(ready)), *said]


def published(unit: Unit) -> tuple[str, ...]:
    """IP:PORT of the host, by `ports`, or by `port` of what needs none published."""
    if unit.service.runtime == "exec":
        return (f"127.0.0.1:{unit.service.port}",)
    halves = (port.rpartition(":")[0] for port in unit.ports)
    return tuple(half if ":" in half else f"127.0.0.1:{half}" for half in halves)


def held(unit: Unit, command: tuple[str, ...]) -> None:
    """Refuses `sweep.match` that is not in the command line: the sweep would end somebody else's
    processes, or find none; a renamed model file once did that."""
    match = unit.service.sweep.match
    if match is not None and not any(match in word for word in command):
        message = f"{unit.name}: sweep.match {match!r} is nowhere in the command line"
        raise Refused(message, hint="name a word of `command` or `args`, as it is written there")
