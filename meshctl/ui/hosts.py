"""The JSON documents of `host`, and how a reading becomes one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeVar

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.gpu import CardSeen, Pool
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.value import Known, Unknown
from meshctl.ui.documents import Document

T = TypeVar("T")
HostState = Literal["up", "unreachable", "refused", "unreadable"]


class Room(Frozen):
    """Bytes of memory or disk, and how many of them somebody new can have."""

    total_bytes: int
    free_bytes: int


class CardEntry(Frozen):
    """One card; `memory` null is unknown."""

    name: str
    id: str
    memory: Room | None


class HostFacts(Frozen):
    """What was read of a host; null is unknown, and `unknown` says why."""

    os: str | None
    kernel: str | None
    boot_id: str | None
    uptime_s: float | None
    podman: str | None
    systemd: int | None
    memory: Room | None
    disk: Room | None = Field(description="of /")
    cards: tuple[CardEntry, ...] | None
    unknown: tuple[str, ...] = Field(description="what is not known, and the reason")


class HostEntry(Frozen):
    """One host of the fleet; `facts` is null where there are none, and `why` says the reason."""

    name: str
    address: str
    state: HostState
    facts: HostFacts | None
    why: str
    hint: str = Field(description="the next command; empty where there is none")


class Hosts(Document):
    """`host list`: what the hosts of the fleet are, and have free."""

    kind: Literal["hosts/v1"] = "hosts/v1"
    hosts: tuple[HostEntry, ...]


class HostAnswer(Frozen):
    """What a command did on one host; `code` is null where nobody knows."""

    name: str
    code: int | None
    out: str
    err: str
    why: str
    hint: str


class HostExec(Document):
    """`host exec`: what one command did on each host."""

    kind: Literal["host-exec/v1"] = "host-exec/v1"
    command: tuple[str, ...]
    answers: tuple[HostAnswer, ...]


def host_facts(seen: HostSeen, *, unified: bool) -> HostFacts:
    """The reading for people and scripts; `unified` says that cards share the main memory."""
    cards = _value(seen.cards)
    return HostFacts(
        os=_value(seen.os),
        kernel=_value(seen.kernel),
        boot_id=_value(seen.boot_id),
        uptime_s=_value(seen.uptime_s),
        podman=_value(seen.podman),
        systemd=_value(seen.systemd),
        memory=_room(seen.memory),
        disk=_room(seen.disks["/"]),
        cards=None if cards is None else tuple(_card(card, unified) for card in cards),
        unknown=tuple(_unknown(seen, unified)),
    )


def _value(reading: Known[T] | Unknown) -> T | None:
    return reading.value if isinstance(reading, Known) else None


def _room(reading: Known[Pool] | Unknown) -> Room | None:
    pool = _value(reading)
    return Room(total_bytes=pool.total_bytes, free_bytes=pool.free_bytes) if pool else None


def _card(card: CardSeen, unified: bool) -> CardEntry:
    return CardEntry(name=card.name, id=card.id, memory=_room(card.pool(unified)))


def _unknown(seen: HostSeen, unified: bool) -> Iterator[str]:
    """A host without podman or GPUs is no riddle; one that does not tell its memory is."""
    if not seen.whole:
        yield "the answer was cut"
    readings = {"memory": seen.memory, "disk /": seen.disks["/"], "cards": seen.cards}
    readings |= {card.name: card.pool(unified) for card in _value(seen.cards) or ()}
    for what, reading in readings.items():
        if isinstance(reading, Unknown):
            said = f" ({reading.raw})" if reading.raw else ""
            yield f"{what}: {reading.reason}{said}"
