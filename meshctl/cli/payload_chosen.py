"""Finds the files that `meshctl payload retire` is asked for: payloads, files, folders of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshctl.cli.world import World
from meshctl.errors import MeshctlError, Refused, UsageError

if TYPE_CHECKING:
    from meshctl.outside.disk import Seen, Walk
    from meshctl.payloads.trash import Item, Place, Retirement


@dataclass(frozen=True)
class Chosen:
    """What goes: files that are there, and those that an earlier run has moved already."""

    files: tuple[Seen, ...]
    already: tuple[tuple[Retirement, Item], ...]
    whole: tuple[str, ...]
    """Folders that were asked for as such."""


def chosen_of(world: World, place: Place, walked: Walk, what: list[str]) -> Chosen:
    """Of a payload the files that are here; a file that was named must be."""
    from meshctl.payloads.retire import already

    known = {seen.path: seen for seen in walked.seen}
    whole: list[str] = []
    paths = [path for text in what for path in _paths(world, place, walked, text, whole)]
    moved = {path: already(place, path) for path in dict.fromkeys(paths)}
    files = [_plain(known[p], place) for p, before in moved.items() if not before and p in known]
    before = tuple(found for found in moved.values() if found)
    if not files and not before:
        raise UsageError(
            f"none of these files is in {place.folder}", place=str(place.folder),
            hint="say where they lie with --at DIR",
        )  # fmt: skip
    return Chosen(tuple(files), before, tuple(whole))


def _paths(world: World, place: Place, walked: Walk, text: str, whole: list[str]) -> Iterator[str]:
    """Paths below the folder that one name means. A payload of the fleet comes first; `./NAME` is
    always a file or a folder."""
    from meshctl.payloads.manifest import ENDING

    payloads = world.fleet().payloads if "/" not in text and world.file.exists() else {}
    if text in payloads:
        yield from (f"{text}/{path}" for path in payloads[text].files)
        return
    path = _below(place, text)
    if not (place.folder / path).is_dir() or (place.folder / path).is_symlink():
        yield path
        return
    whole.append(path)
    for seen in walked.seen:
        hidden = any(part.startswith(".") for part in seen.path.split("/"))
        if seen.path.startswith(f"{path}/") and not hidden and not seen.path.endswith(ENDING):
            yield from [seen.path] if seen.kind == "file" else []


def _below(place: Place, text: str) -> str:
    """A file by its path from here, or from the folder; in the trash it still has that path. Raises
    Refused for one that lies elsewhere, UsageError where there is none."""
    from meshctl.payloads.retire import already, inside

    missing: MeshctlError = UsageError(
        "there is no such file", place=text, hint="check the path, and --at DIR"
    )
    for candidate in (text, str(place.folder / text)):
        try:
            path = inside(place.folder, candidate)
        except Refused as error:
            missing = error if os.path.lexists(candidate) else missing
            continue
        if os.path.lexists(place.folder / path) or already(place, path):
            return path
    raise missing


def _plain(seen: Seen, place: Place) -> Seen:
    """Raises Refused for what is no plain file, or cannot be moved: a link is followed nowhere."""
    path = place.folder / seen.path
    if seen.kind == "file" and seen.device == place.folder.stat().st_dev:
        return seen
    if seen.kind == "file":
        raise Refused(
            "it lies on another filesystem than the trash would", place=str(path),
            hint=f"name its own folder: --at {shlex.quote(str(path.parent))}",
        )  # fmt: skip
    what = f"a link to {path.readlink()}" if seen.kind == "link" else "no plain file"
    raise Refused(f"it is {what}", place=str(path), hint="name the file itself")
