"""Which peers there are, who announces them, and what is not as it should be. Pure.

Three voices are compared: the fleet file, the journal of the coordinator, and the environment of
the release of it that serves. A peer is never asked: its verdict is the latest that was journalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from meshctl.errors import Refused
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.peer import entry_of
from meshctl.spec.federation import VARIABLE, PeerEntry
from meshctl.spec.model import Fleet, Frozen, Service
from meshctl.spec.peers import names_of, peers_of_coordinator
from meshctl.state.ledger import Ledger
from meshctl.state.peers import Announced, read_announced


@dataclass(frozen=True)
class Look:
    """One service at one moment; `unknown` says why it could not be seen."""

    seen: ServiceSeen | None = None
    ledger: Ledger = field(default_factory=Ledger)
    unknown: str = ""

    @property
    def verdict(self) -> Literal["pass", "fail", "unclear"] | None:
        """The latest verdict on what gets most requests."""
        main = self.seen.main if self.seen else None
        found = self.ledger.verdict_of(main.name, main.release) if main else None
        return found if found in ("pass", "fail", "unclear") else None  # type: ignore[return-value]


class Peer(Frozen):
    """One peer of one coordinator. `announced` is by the release that serves, `recorded` in the
    journal; None is unknown."""

    name: str
    coordinator: str
    target: str | None
    declared: bool
    announced: bool | None
    recorded: bool
    verdict: Literal["pass", "fail", "unclear"] | None
    models: tuple[str, ...]
    priority: int | None
    weight: int | None
    url: str | None
    min_instances: int | None
    drift: tuple[str, ...]
    unseen: bool = Field(default=False, exclude=True)


def peers_of(
    fleet: Fleet, coordinator: str, own: Look, known: Announced, looks: Mapping[str, Look]
) -> tuple[Peer, ...]:
    """Every peer of a coordinator: those of the file in its order, then the others by name."""
    live = _live(own)
    declared = peers_of_coordinator(fleet, coordinator)
    others = {entry.id for said in (known, live) for entry in said.entries or ()} - {*declared}
    voices = _Voices(fleet, coordinator, own, known, live)
    return tuple(
        _peer(voices, name, looks.get(name, Look())) for name in (*declared, *sorted(others))
    )


def _live(own: Look) -> Announced:
    main = own.seen.main if own.seen else None
    return read_announced(main.template.environment.get(VARIABLE, "") if main else "")


@dataclass(frozen=True)
class _Voices:
    fleet: Fleet
    coordinator: str
    own: Look
    known: Announced
    live: Announced


def _peer(voices: _Voices, name: str, look: Look) -> Peer:
    service = voices.fleet.services.get(name)
    service = service if service and service.role == "peer" else None
    entry = voices.live.entry(name) or voices.known.entry(name)
    url = look.seen.url if look.seen else entry.base_url if entry else None
    return Peer(
        name=name,
        coordinator=voices.coordinator,
        target=service.target[0] if service else None,
        declared=service is not None,
        announced=_announced(voices, name),
        recorded=voices.known.entry(name) is not None,
        verdict=look.verdict,
        models=names_of(service) if service else entry.models if entry else (),
        priority=service.priority if service else entry.priority if entry else None,
        weight=service.weight if service else entry.weight if entry else None,
        url=url,
        min_instances=look.seen.scaling.min if look.seen else None,
        drift=tuple(_drift(voices, name, look)),
        unseen=bool(voices.own.unknown or look.unknown),
    )


def _announced(voices: _Voices, name: str) -> bool | None:
    if voices.own.unknown or voices.live.entries is None:
        return None
    return voices.live.entry(name) is not None


def _drift(voices: _Voices, name: str, look: Look) -> list[str]:
    unseen = voices.own.unknown or look.unknown
    if unseen:
        return [f"not observed: {unseen}"]
    recorded, live = voices.known.entry(name), voices.live.entry(name)
    found = _unreadable(voices)
    if name not in peers_of_coordinator(voices.fleet, voices.coordinator):
        found.append(f"the fleet file does not declare it: `meshctl peer remove {name}`")
    found += _unlike(voices, name, recorded, live)
    if recorded or live:
        found += _unfit(voices, name, look, recorded)
    return found


def _unreadable(voices: _Voices) -> list[str]:
    if voices.live.entries is not None:
        return []
    return [f"what {voices.coordinator} announces cannot be read: {voices.live.why}"]


def _unlike(
    voices: _Voices, name: str, recorded: PeerEntry | None, live: PeerEntry | None
) -> list[str]:
    """Where the journal and the release that serves say different things."""
    if voices.live.entries is None or recorded == live:
        return []
    if recorded is None:
        return [f"announced by somebody else: `meshctl peer add {name}` proves and records it"]
    how = "otherwise" if live else "not at all"
    deploy = f"`meshctl deploy {voices.coordinator}`"
    return [f"the release of {voices.coordinator} that serves announces it {how}: {deploy}"]


def _unfit(voices: _Voices, name: str, look: Look, recorded: PeerEntry | None) -> list[str]:
    """Where what is announced is not what is declared, or not what is there."""
    service = voices.fleet.services.get(name)
    if service is None:
        return []
    if look.seen is None:
        return [f"its service does not exist: `meshctl peer add {name}` places it"]
    found = _undeclared(recorded, name, service, look.seen.url)
    if look.verdict in ("fail", "unclear"):
        way = f"`meshctl verify {name}` asks again, `meshctl peer remove {name}` takes it out"
        found.append(f"its latest verdict is {look.verdict}, and it stays announced: {way}")
    return found


def _undeclared(recorded: PeerEntry | None, name: str, service: Service, url: str) -> list[str]:
    """Where the entry that is recorded is not the one that would be announced now."""
    try:
        declared = entry_of(name, service, url)
    except Refused as no:
        return [no.message]
    rows = _changes(recorded, declared)
    return [f"{key} {before} -> {after}: `meshctl peer sync`" for key, before, after in rows]


def _windows(entry: PeerEntry) -> str:
    return ", ".join(f"{name} {tokens}" for name, tokens in sorted(entry.context.items())) or "none"


def _changes(recorded: PeerEntry | None, declared: PeerEntry) -> list[tuple[str, str, str]]:
    if recorded is None:
        return []
    rows = (
        ("url", recorded.base_url, declared.base_url),
        ("models", ", ".join(recorded.models), ", ".join(declared.models)),
        ("priority", str(recorded.priority), str(declared.priority)),
        ("weight", str(recorded.weight), str(declared.weight)),
        ("context", _windows(recorded), _windows(declared)),
    )
    return [row for row in rows if row[1] != row[2]]
