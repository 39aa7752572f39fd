"""`meshctl payload fetch`: brings model files here, and proves every byte before they appear."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.meter import Meter
from meshctl.cli.payload import FORMS, doors_of
from meshctl.cli.world import World, world_of
from meshctl.errors import UsageError

if TYPE_CHECKING:
    from meshctl.outside.ranges_open import Doors
    from meshctl.payloads.wanted import Fetched, Hands, Wanted
    from meshctl.spec.model import Payload


def fetch(
    ctx: typer.Context,
    source: str = typer.Argument(metavar="SOURCE", help=f"{FORMS[0].upper()}{FORMS[1:]}."),
    to: Path = typer.Option(Path("."), "--to", metavar="DIR", help="The folder it is put into."),
    size: str | None = typer.Option(
        None, "--size", metavar="BYTES", help="How large it must be, such as 7700000000."
    ),
    sha256: str | None = typer.Option(
        None, "--sha256", metavar="HEX", help="What its bytes must hash to."
    ),
    unproved: bool = typer.Option(
        False, "--unproved", help="Take what comes, where nothing says what it must be."
    ),
    progress: bool = typer.Option(
        False, "--progress", help="Say every 10 s how far it is, also where no terminal is."
    ),
) -> int:
    """Fetch a model file, or all files of a payload of the fleet, and prove every byte.

    It appears under its name only when size and sha256 are those that were declared, or that the
    hub names; a manifest lies beside it. A fetch that was cut short goes on where it was, in
    another process, too. Tokens come from the environment, a file of mode 0600 that HF_TOKEN_PATH
    names, or the stored login of the hub. Exits 9 when the bytes are not the promised ones.
    """
    from meshctl.ui.payloads import fetch_document

    world = world_of(ctx)
    _check_given(size, sha256)
    meter = Meter(world.output, world.clock, lines=progress)
    payload = _payload(world, source)
    if payload is None:
        found = [_alone(world, source, to, size, sha256, unproved, meter)]
    elif size or sha256 or unproved:
        raise UsageError(
            "the fleet file declares size and digest of its payloads",
            hint=f"leave them out: `meshctl payload fetch {source} --to {to}`",
        )
    else:
        found = _together(world, source, payload, to, meter)
    world.output.show(fetch_document(found))
    return 0


def _check_given(size: str | None, sha256: str | None) -> None:
    from meshctl.quantities import parse_bytes

    if sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise UsageError("--sha256: this is no digest", hint="64 lowercase hex digits")
    try:
        parse_bytes(size or "0")
    except ValueError as error:
        raise UsageError(f"--size: {error}", hint="for example 7700000000 or 7.7GB") from error


def _payload(world: World, text: str) -> Payload | None:
    """The payload of the fleet that is meant; None for a source of its own."""
    from meshctl.payloads.locate import has_scheme
    from meshctl.spec.near import near

    if has_scheme(text) or "/" in text or Path(text).exists():
        return None
    payloads = world.fleet().payloads
    if text not in payloads:
        raise UsageError(
            f"{text!r} is no payload of {world.file}",
            hint=f"{near(text, payloads)}; or give {FORMS}",
        )
    return payloads[text]


def _alone(
    world: World,
    source: str,
    to: Path,
    size: str | None,
    sha256: str | None,
    unproved: bool,
    meter: Meter,
) -> Fetched:
    from meshctl.payloads.fetch import fetch as bring
    from meshctl.payloads.locate import locate
    from meshctl.payloads.wanted import Wanted
    from meshctl.quantities import parse_bytes

    found = locate(source, _doors(world, None))
    if "/" in found.name or found.name in (".", "..") or not found.name.isprintable():
        raise UsageError("this is no name of a file", place=found.folder.shown, hint="name another")
    wanted = Wanted(
        folder=found.folder,
        name=found.name,
        to=to / found.name,
        bytes=parse_bytes(size) if size else None,
        sha256=sha256,
        hub=source.startswith("hub:"),
        unproved=unproved,
    )
    return bring(wanted, _hands(world, meter, found.name))


def _together(world: World, name: str, payload: Payload, to: Path, meter: Meter) -> list[Fetched]:
    """All files of a payload as the folder NAME, which appears when the last one is proved."""
    from meshctl.outside.partial import appear, held
    from meshctl.payloads.fetch import fetch as bring

    home = to / name
    with held(home, world.clock, world.settings.lock_wait_s):
        place = home if home.exists() else to / f".{name}.parts"
        wanted = list(_files(payload, place, _doors(world, name)))
        found = [bring(one, _hands(world, meter, one.name)) for one in wanted]
        if place != home:
            appear(place, home)
    return [dataclasses.replace(f, path=home / f.path.relative_to(place)) for f in found]


def _files(payload: Payload, place: Path, doors: Doors) -> Iterator[Wanted]:
    from meshctl.payloads.locate import locate_file
    from meshctl.payloads.wanted import Wanted

    for name, file in payload.files.items():
        found = locate_file(payload, name, doors)
        yield Wanted(
            folder=found.folder,
            name=found.name,
            to=place / name,
            bytes=file.bytes,
            sha256=file.sha256,
            hub=payload.source.startswith("hub:"),
        )


def _doors(world: World, payload: str | None) -> Doors:
    """As for a header, over connections that are kept: there are hundreds of requests."""
    from meshctl.outside.http_kept import KeptHttp

    return dataclasses.replace(doors_of(world, payload), http=KeptHttp())


def _hands(world: World, meter: Meter, name: str) -> Hands:
    from meshctl.outside.retries import Patience
    from meshctl.payloads.wanted import Hands

    def tell(what: str, done: int, total: int) -> None:
        meter.tell(f"{what} {name}", done, total)

    patience = Patience(world.clock, world.output.detail)
    return Hands(world.clock, patience, tell, world.settings.lock_wait_s)
