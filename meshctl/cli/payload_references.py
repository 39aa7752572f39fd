"""Asks everybody who may refer to a payload: the fleet, this machine, and what the caller names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshctl.cli.world import World
from meshctl.outside.disk import Seen, Walk
from meshctl.outside.procfs import Process, processes
from meshctl.payloads.declared import home_of
from meshctl.payloads.gather import links_to, opened_by, said_by, texts_of
from meshctl.payloads.references import Found, References, Sought, Unsearched, references_to
from meshctl.payloads.uses import said_in, uses_of
from meshctl.spec.model import Fleet


@dataclass(frozen=True)
class Consumers:
    """Who was asked: the fleet, None where there is none; processes; every text; the rest."""

    fleet: Fleet | None
    running: tuple[Process, ...]
    said: References
    declared: dict[str, str]
    """The payload of the fleet to which a path below the folder belongs."""
    notes: tuple[str, ...]


def consumers(world: World, folder: Path, searched: Iterable[Path]) -> Consumers:
    """Everybody. Raises SpecError for a fleet file that is wrong: it may name anything."""
    fleet = world.fleet() if world.file.exists() or world.settings.fleet else None
    running = processes()
    said = texts_of(searched) + said_by(running or ())
    missing = []
    if fleet is None:
        missing.append(Unsearched("the fleet file", f"there is no {world.file} here"))
    if running is None:
        missing.append(Unsearched("processes", "this kernel tells nothing of them"))
    said += References(unsearched=tuple(missing))
    if fleet is not None:
        said += said_in(fleet)
    declared = _declared(fleet, folder, world.file.parent) if fleet else {}
    return Consumers(fleet, running or (), said, declared, _notes(running or ()))


def found_by(of: Consumers, files: Sequence[Seen], walked: Walk, folder: Path) -> list[Found]:
    """Every reference to one of these files."""
    sought = [Sought(seen.path) for seen in files]
    return [
        *_used(of, files),
        *references_to(sought, of.said.texts),
        *opened_by(of.running, files, folder),
        *links_to(walked, files, folder),
    ]


def _used(of: Consumers, files: Sequence[Seen]) -> list[Found]:
    found = []
    for seen in files:
        payload = of.declared.get(seen.path)
        for where in uses_of(of.fleet, payload) if of.fleet and payload else ():
            found.append(Found(seen.path, where, f"uses the payload {payload}"))
    return found


def _declared(fleet: Fleet, folder: Path, base: Path) -> dict[str, str]:
    """Where the files of payloads are: in a folder of its name, and those of a `file:` source."""
    real = folder.resolve()
    found: dict[str, str] = {}
    for name, payload in fleet.payloads.items():
        own = [base / home_of(name, payload, None, base)] if payload.source[:5] == "file:" else []
        for home in (real / name, *(path.resolve() for path in own)):
            for path in payload.files:
                if (home / path).is_relative_to(real):
                    found.setdefault((home / path).relative_to(real).as_posix(), name)
    return found


def _notes(running: Sequence[Process]) -> tuple[str, ...]:
    hidden = sum(one.files is None for one in running)
    if not hidden:
        return ()
    many = "a process" if hidden == 1 else f"{hidden} processes"
    return (f"what {many} of others may have open, or in the environment, is not ours to see",)
