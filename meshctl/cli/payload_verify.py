"""`meshctl payload verify`: reads model files whole, and fetches those again that are bad."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.meter import Meter
from meshctl.cli.payload import doors_of
from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError, UsageError

if TYPE_CHECKING:
    from meshctl.payloads.verify import Declared, Proof
    from meshctl.payloads.wanted import Hands, Wanted

WHAT = "Payloads of the fleet, files with a manifest, folders of those; else all there are."


def verify(
    ctx: typer.Context,
    what: list[str] | None = typer.Argument(None, metavar="PAYLOAD", help=WHAT),
    at: Path | None = typer.Option(
        None, "--at", metavar="DIR", help="Where payloads lie, each in a folder of its name."
    ),
    repair: bool = typer.Option(False, "--repair", help="Fetch again what is bad, and only that."),
    progress: bool = typer.Option(
        False, "--progress", help="Say every 10 s how far it is, also where no terminal is."
    ),
) -> int:
    """Read model files whole, and prove size and sha256 of each.

    What they must be is declared in the fleet file, or stands in the manifest that a fetch left.
    Models in several files are judged as sets, too. Nothing is changed without --repair, and with
    it a bad file stays until the right one is proved. Exits 9 when one is not proved.
    """
    from meshctl.payloads.verify import prove, prove_sets
    from meshctl.ui.payload_tidy import verify_document

    world = world_of(ctx)
    wanted = _distinct(_declared(world, what or [], at))
    if not wanted:
        raise UsageError(
            "there is no payload to verify",
            place=str(at or Path()),
            hint="say where they lie with --at DIR, or name a file that has a manifest",
        )
    meter = Meter(world.output, world.clock, lines=progress)
    proofs = prove(wanted, meter.tell)
    if repair:
        proofs = [_repaired(world, proof, meter) for proof in proofs]
    sets = prove_sets(one.declared.path for one in proofs)
    document = verify_document(proofs, sets)
    world.output.show(document)
    return 0 if document.verdict == "pass" else 9


def _declared(world: World, what: list[str], at: Path | None) -> Iterator[Declared]:
    from meshctl.outside.disk import walk
    from meshctl.payloads.declared import home_of, of_payload, with_manifest

    for text in what:
        yield from _named(world, text, at)
    if what:
        return
    payloads = world.fleet().payloads if world.file.exists() else {}
    for name, payload in payloads.items():
        home = home_of(name, payload, at, world.file.parent)
        if home.is_dir():
            yield from of_payload(name, payload, home)
    folder = at or Path()
    yield from with_manifest(folder, walk(folder))


def _named(world: World, text: str, at: Path | None) -> Iterator[Declared]:
    """A payload of the fleet comes before a file of that name; `./NAME` is always a file."""
    from meshctl.outside.disk import walk
    from meshctl.payloads.declared import home_of, of_file, of_payload, with_manifest
    from meshctl.payloads.manifest import manifest_path
    from meshctl.spec.near import near

    path = Path(text)
    payloads = world.fleet().payloads if "/" not in text and world.file.exists() else {}
    if text in payloads:
        home = home_of(text, payloads[text], at, world.file.parent)
        yield from of_payload(text, payloads[text], home)
    elif path.is_dir():
        yield from with_manifest(path, walk(path))
    elif path.exists() or manifest_path(path).exists():
        yield of_file(path)
    else:
        raise UsageError(
            f"{text!r} is neither a file nor a payload of {world.file}",
            hint=near(text, payloads) if payloads else "name a file, or the fleet file with -f",
        )


def _distinct(found: Iterable[Declared]) -> list[Declared]:
    """Each file once; what the fleet declares comes before what a manifest says."""
    known: dict[Path, Declared] = {}
    for one in found:
        known.setdefault(one.path.absolute(), one)
    return list(known.values())


def _repaired(world: World, proof: Proof, meter: Meter) -> Proof:
    """The same file made right; where that fails it is as bad as it was, and says why."""
    from meshctl.payloads.repair import repair
    from meshctl.payloads.verify import repaired

    if proof.verdict != "fail":
        return proof
    try:
        wanted = _wanted(world, proof.declared)
        found = repair(wanted, _hands(world, meter, wanted.name))
    except MeshctlError as error:
        return dataclasses.replace(proof, why=f"{proof.why}; not repaired: {error.message}")
    return repaired(proof, found.bytes, found.sha256)


def _wanted(world: World, one: Declared) -> Wanted:
    """Whence a bad file comes again. Raises UsageError where nobody says."""
    from meshctl.outside.http_kept import KeptHttp
    from meshctl.payloads.locate import locate, locate_file
    from meshctl.payloads.wanted import Wanted

    doors = dataclasses.replace(doors_of(world, one.payload), http=KeptHttp())
    if one.payload:
        payload = world.fleet().payloads[one.payload]
        source, found = payload.source, locate_file(payload, one.name, doors)
    else:
        source, found = one.source, locate(one.source, doors)
    return Wanted(
        folder=found.folder, name=found.name, to=one.path, bytes=one.bytes, sha256=one.sha256,
        hub=source.startswith("hub:"),
    )  # fmt: skip


def _hands(world: World, meter: Meter, name: str) -> Hands:
    from meshctl.outside.retries import Patience
    from meshctl.payloads.wanted import Hands

    def tell(what: str, done: int, total: int) -> None:
        meter.tell(f"{what} {name}", done, total)

    patience = Patience(world.clock, world.output.detail)
    return Hands(world.clock, patience, tell, world.settings.lock_wait_s)
