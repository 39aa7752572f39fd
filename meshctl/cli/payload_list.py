"""`meshctl payload list`: which payloads there are, who uses them, and what lies on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError

if TYPE_CHECKING:
    from meshctl.cli.payload_references import Consumers
    from meshctl.outside.disk import Seen, Walk
    from meshctl.payloads.space import Kind, Known
    from meshctl.ui.payload_upkeep import Disk, ListedEntry


def list_(
    ctx: typer.Context,
    at: Path | None = typer.Option(
        None, "--at", metavar="DIR", help="Where payloads lie, each in a folder of its name."
    ),
    disk: bool = typer.Option(
        False, "--disk", help="What lies there, in real blocks, and what of it could go."
    ),
    search: list[Path] | None = typer.Option(
        None,
        "--search",
        metavar="FILE",
        help="With --disk: search this env file, unit or script, or a folder.",
    ),
) -> int:
    """List the payloads of the fleet: how large, how many of their files are there, who uses them.

    --disk reads the folder itself: blocks that are really taken, a file with several names once,
    and what could go: the trash, payloads that nobody refers to, fetches that were cut short, and
    caches of the hub's tools, pip and uv. What is not known is said to be unknown.
    """
    from meshctl.ui.payload_upkeep import PayloadList

    world = world_of(ctx)
    rows = tuple(_payloads(world, at)) if world.file.exists() or world.settings.fleet else ()
    seen = _disk(world, at or Path(), search or []) if disk else None
    world.output.show(PayloadList(at=str(at or Path()), payloads=rows, disk=seen))
    return 0


def _payloads(world: World, at: Path | None) -> Iterator[ListedEntry]:
    from meshctl.outside.proving import size_of
    from meshctl.payloads.declared import home_of
    from meshctl.payloads.uses import uses_of
    from meshctl.ui.payload_upkeep import ListedEntry

    def there(path: Path, size: int) -> bool:
        try:
            return size_of(path) == size
        except MeshctlError:
            return False

    fleet = world.fleet()
    for name, payload in fleet.payloads.items():
        home = home_of(name, payload, at, world.file.parent)
        yield ListedEntry(
            name=name,
            bytes=sum(file.bytes for file in payload.files.values()),
            files=len(payload.files),
            there=sum(there(home / path, file.bytes) for path, file in payload.files.items()),
            place=str(home),
            used_by=uses_of(fleet, name),
        )


def _disk(world: World, folder: Path, search: list[Path]) -> Disk:
    from meshctl.cli.payload_references import consumers
    from meshctl.outside.disk import room, walk
    from meshctl.payloads.space import spaces
    from meshctl.ui.payload_tidy import disk_document

    world.output.progress(f"looking at {folder}")
    walked = walk(folder)
    of = consumers(world, folder, search)
    found = [*_below(of, walked, folder), *_cached(world)]
    unreadable = walked.unreadable
    return disk_document(room(folder), spaces(found), unreadable, of.said.unsearched, of.notes)


def _below(of: Consumers, walked: Walk, folder: Path) -> Iterator[tuple[Seen, Kind]]:
    from meshctl.payloads.manifest import ENDING
    from meshctl.payloads.space import kind_of

    known = _known(of, walked, folder)
    endings = (one.path for one in walked.seen if one.path.endswith(ENDING))
    manifests = frozenset(path.removesuffix(ENDING) for path in endings)
    for one in walked.seen:
        yield one, kind_of(one, known, manifests)


def _known(of: Consumers, walked: Walk, folder: Path) -> Known:
    from meshctl.cli.payload_references import found_by
    from meshctl.outside.disk import is_locked
    from meshctl.payloads.space import Known

    files = [seen for seen in walked.seen if seen.kind == "file"]
    used: dict[str, str] = {}
    for one in found_by(of, files, walked, folder):
        used.setdefault(one.path, one.where)
    partial = [seen.path for seen in files if seen.path.endswith(".part")]
    fetching = frozenset(path for path in partial if is_locked(folder / path))
    unclear = ", ".join(one.where for one in of.said.unsearched)
    return Known(used, fetching, frozenset(of.declared), unclear)


def _cached(world: World) -> Iterator[tuple[Seen, Kind]]:
    """What lies in the caches of tools, of those that there are."""
    from meshctl.outside.disk import walk
    from meshctl.payloads.caches import caches
    from meshctl.payloads.space import Kind

    for cache in caches(world.environ):
        if Path(cache.path).is_dir():
            world.output.progress(f"looking at {cache.path}")
            for seen in walk(Path(cache.path)).seen:
                yield seen, Kind(cache.path, "cache", cache.reclaimable, cache.why)
