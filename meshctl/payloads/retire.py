"""Moves named files into the trash, never a folder, once it is written down how to go back."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshctl.errors import Refused
from meshctl.outside.clock import rfc3339
from meshctl.outside.disk import Seen, Walk, printable
from meshctl.outside.moves import is_same, make_folder, write
from meshctl.payloads.declared import written_manifest
from meshctl.payloads.manifest import ENDING
from meshctl.payloads.trash import (
    Item,
    Place,
    Retirement,
    beside,
    restore_command,
    restore_text,
    retirements,
    state_of,
    take,
)

Tell = Callable[[str], None]
"""Told what comes next, before each change on the disk; may raise to stop."""


@dataclass(frozen=True)
class Why:
    """For the record: who retires, what for, and what was passed over on their word."""

    who: str
    reason: str
    ignored: tuple[str, ...]


def stays_beside(walked: Walk, retired: Sequence[str]) -> tuple[str, ...]:
    """Files and links of the same folders that are not retired; their manifests and what is hidden
    are not named. Those of the top folder have nothing to do with one another."""
    folders = {path.rpartition("/")[0] for path in retired} - {""}
    taken = {*retired, *(f"{path}{ENDING}" for path in retired)}
    return tuple(
        one.path
        for one in walked.seen
        if one.path not in taken
        and any(one.path.startswith(f"{folder}/") for folder in folders)
        and not one.path.endswith(ENDING)
        and not any(part.startswith(".") for part in one.path.split("/"))
    )


def warning_of(stays: Sequence[str]) -> str:
    """Why a folder must not be brought back whole."""
    if not stays:
        return ""
    named = ", ".join(stays[:3]) + (f" and {len(stays) - 3} more" if len(stays) > 3 else "")
    return (
        f"not taken, and in its place: {named}. Bring files back one by one, by their commands; "
        "the folder as a whole would lay old files over that"
    )


def already(place: Place, path: str) -> tuple[Retirement, Item] | None:
    """The retirement that a file went into, where it is no longer at its place, or not yet alone
    there: that of a run that was cut short."""
    for one in reversed(list(retirements(place))):
        for item in one.items:
            if item.path == path and state_of(place, one.name, item) == "trash":
                original = place.original(item)
                if not os.path.lexists(original) or is_same(place.kept(one.name, item), original):
                    return one, item
    return None


def retire(
    place: Place, files: Sequence[Seen], stays: tuple[str, ...], why: Why,
    now: datetime.datetime, tell: Tell,
) -> Retirement:  # fmt: skip
    """The retirement they went into. The caller holds the trash, and has seen that they are free.

    Killed anywhere, the same command goes on: files that are in the trash are there `already`.
    """
    tell("making the folder of the retirement")
    name = _new_name(place, now)
    items = tuple(_item(place, name, one) for one in files)
    made = Retirement(
        name=name, at=rfc3339(now), who=why.who, reason=why.reason,
        folder=str(place.folder.absolute()), warning=warning_of(stays), stays=stays,
        ignored=why.ignored, items=items,
    )  # fmt: skip
    tell("writing RESTORE.txt")
    write(place.home(name) / "RESTORE.txt", restore_text(made))
    tell("writing the manifest")
    write(place.home(name) / "manifest.json", made.text())
    for item in items:
        tell(item.path)
        take(place, name, item)
    return made


def finish(place: Place, retirement: str, item: Item, tell: Tell) -> None:
    """What a run that was cut short left undone of one file."""
    tell(item.path)
    take(place, retirement, item)


def _item(place: Place, retirement: str, seen: Seen) -> Item:
    original = place.folder / seen.path
    known = written_manifest(original)
    valid = known is not None and (known.bytes, known.mtime_ns) == (seen.bytes, seen.mtime_ns)
    return Item(
        path=seen.path, bytes=seen.bytes, real=seen.real, inode=seen.inode,
        mtime_ns=seen.mtime_ns, sha256=known.sha256 if known and valid else None,
        restore=restore_command(
            place, retirement, seen.path, with_manifest=beside(original).exists()
        ),
    )  # fmt: skip


def _new_name(place: Place, now: datetime.datetime) -> str:
    """By the second, and a number where two fall into one."""
    stamp = now.astimezone(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1, 10_000):
        name = stamp if number == 1 else f"{stamp}-{number}"
        if make_folder(place.home(name)):
            return name
    raise Refused(
        "too many retirements in one second", place=str(place.trash), hint="try again in a second"
    )


def inside(folder: Path, text: str) -> str:
    """The path of a named file below the folder of the payloads, its own name not followed.

    Raises Refused for one that lies elsewhere, be it by a link on the way.
    """
    path = Path(text)
    real = path.parent.resolve() / path.name
    home = folder.resolve()
    if not real.is_relative_to(home) or real == home:
        raise Refused(
            f"it lies outside of {folder}",
            place=text,
            hint="name the folder of its payloads with --at DIR: the trash is made there",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(
            f"the name {printable(text)} is not UTF-8, and no manifest can hold it",
            place=printable(text),
            hint="rename it first",
        ) from error
    return real.relative_to(home).as_posix()
