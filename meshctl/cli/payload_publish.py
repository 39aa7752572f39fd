"""`meshctl payload publish`: puts model files into a bucket, where nothing is ever written over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.meter import Meter
from meshctl.cli.payload import doors_of
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, UsageError

if TYPE_CHECKING:
    from meshctl.payloads.outgoing import Outgoing
    from meshctl.payloads.wanted import Hands
    from meshctl.spec.model import Payload

FORM = "s3://BUCKET/FOLDER or r2://BUCKET/FOLDER"


@dataclass(frozen=True)
class Local:
    """A file that is here, what it must be where anybody says, and its source as a payload has."""

    path: Path
    to: str
    bytes: int | None = None
    sha256: str | None = None


def publish(
    ctx: typer.Context,
    what: str = typer.Argument(metavar="WHAT", help="A file, or a payload of the fleet."),
    to: str | None = typer.Option(
        None, "--to", metavar="PLACE", help=f"{FORM}; for a payload its source, unless it is given."
    ),
    at: Path | None = typer.Option(
        None, "--at", metavar="DIR", help="Where payloads lie, each in a folder of its name."
    ),
    progress: bool = typer.Option(
        False, "--progress", help="Say every 10 s how far it is, also where no terminal is."
    ),
) -> int:
    """Put a model file, or all files of a payload, into a bucket of S3 or R2, and read it back.

    Nothing is written over: another object of that name is refused. What was sent stays when it is
    cut short, and the same command goes on. Sizes and digests are those of the fleet file, or of
    the manifest beside the file; a file that has neither is read for its own. Exits 9 when the file
    is not what they say, or when what is read back is not the file.
    """
    from meshctl.payloads.publish import publish as send
    from meshctl.ui.payloads import publish_document

    world = world_of(ctx)
    meter = Meter(world.output, world.clock, lines=progress)
    wanted = [_outgoing(world, one, meter) for one in _chosen(world, what, to, at)]
    found = [send(one, _hands(world, meter, one.path.name)) for one in wanted]
    world.output.show(publish_document(found))
    return 0


def _chosen(world: World, what: str, to: str | None, at: Path | None) -> Iterator[Local]:
    """A file that is there comes before a payload of the fleet; `./NAME` is always a file."""
    from meshctl.payloads.declared import home_of
    from meshctl.spec.near import near

    path = Path(what)
    if path.is_file():
        if to is None:
            raise UsageError("nothing says where it goes", place=what, hint=f"--to {FORM}")
        yield Local(path, f"{to.rstrip('/')}/{path.name}")
        return
    payloads = world.fleet().payloads if "/" not in what and world.file.exists() else {}
    if what not in payloads:
        raise UsageError(
            f"{what!r} is neither a file nor a payload of {world.file}",
            hint=near(what, payloads) if payloads else "name a file, or the fleet file with -f",
        )
    home = home_of(what, payloads[what], at, world.file.parent)
    yield from _files(payloads[what], home, to)


def _files(payload: Payload, home: Path, to: str | None) -> Iterator[Local]:
    from meshctl.spec.sources import FETCHABLE, file_source, parse_source

    source = parse_source(payload.source)
    for name, file in payload.files.items():
        if to is None and source.scheme not in FETCHABLE:
            message = f"its source is no bucket: {source.scheme}:"
            raise UsageError(message, place=str(home), hint=f"--to {FORM}")
        goes = f"{to.rstrip('/')}/{name}" if to else file_source(source, payload.files, name)
        yield Local(home / name, goes, file.bytes, file.sha256)


def _outgoing(world: World, one: Local, meter: Meter) -> Outgoing:
    """Raises UsageError for what is no bucket of S3 or R2, Refused for a file of another size."""
    from meshctl.outside.multipart import S3Uploads
    from meshctl.outside.proving import size_of
    from meshctl.outside.ranges_open import open_folder, s3_maker
    from meshctl.payloads.outgoing import Outgoing
    from meshctl.spec.sources import parse_source

    scheme = one.to.partition(":")[0]
    if scheme not in ("s3", "r2"):
        raise UsageError(
            "files are published to buckets of S3 and R2", place=one.to.partition("?")[0],
            hint=f"--to {FORM}; for gs: `gcloud storage cp --if-generation-match=0 FILE gs://...`",
        )  # fmt: skip
    try:
        source = parse_source(one.to)
    except ValueError as error:
        raise UsageError(str(error), place=scheme, hint=f"--to {FORM}") from error
    size, doors = size_of(one.path), doors_of(world, None)
    if one.bytes not in (None, size):
        raise Refused(
            f"it has {size:,} bytes, and the fleet file says {one.bytes:,}", place=str(one.path),
            hint="fetch it again, or correct the fleet file",
        )  # fmt: skip
    folder = open_folder(source, source.path.rpartition("/")[0], doors)
    bucket = S3Uploads(f"{scheme}://{source.place}", source.place, s3_maker(source, doors),
                       world.calls)  # fmt: skip
    return Outgoing(one.path, size, _digest(one, size, meter), bucket, folder, source.path)


def _digest(one: Local, size: int, meter: Meter) -> str:
    """What the file must hash to: declared, or proved when it came, or what it is now."""
    from meshctl.outside.proving import sha256_of
    from meshctl.payloads.manifest import read_manifest

    known = read_manifest(one.path)
    if one.sha256 or known:
        return one.sha256 or (known.sha256 if known else "")
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        meter.tell(f"reading {one.path.name}", done, size)

    return sha256_of(one.path, tell)


def _hands(world: World, meter: Meter, name: str) -> Hands:
    from meshctl.outside.retries import Patience
    from meshctl.payloads.wanted import Hands

    def tell(what: str, done: int, total: int) -> None:
        meter.tell(f"{what} {name}", done, total)

    patience = Patience(world.clock, world.output.detail)
    return Hands(world.clock, patience, tell, world.settings.lock_wait_s)
