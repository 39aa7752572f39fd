"""`meshctl payload retire`: moves files that nobody refers to into the trash beside them."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.payload_chosen import Chosen, chosen_of
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, UsageError

if TYPE_CHECKING:
    from meshctl.outside.disk import Walk
    from meshctl.payloads.references import Found, Unsearched
    from meshctl.payloads.trash import Place, Retirement
    from meshctl.ui.payload_upkeep import PayloadRetire

AT = typer.Option(Path("."), "--at", metavar="DIR", help="Where payloads lie; the trash is there.")


@dataclass(frozen=True)
class Asked:
    """What the search for references showed."""

    found: tuple[Found, ...]
    unsearched: tuple[Unsearched, ...]
    notes: tuple[str, ...]


def retire(
    ctx: typer.Context,
    what: list[str] = typer.Argument(
        metavar="NAME|FILE", help="Payloads of the fleet, files, or folders with all their files."
    ),
    at: Path = AT,
    search: list[Path] | None = typer.Option(
        None,
        "--search",
        metavar="FILE",
        help="Search this env file, unit or script, or a folder; repeatable.",
    ),
    ignore: list[str] | None = typer.Option(
        None, "--ignore", metavar="WHERE", help="Pass over this one; needs --reason; repeatable."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what refers to them; move nothing."),
) -> int:
    """Move model files that nobody refers to into the trash beside them; asks first.

    Searched are the fleet file, command lines and open files of this machine, links, and what
    --search names. What somebody refers to is refused (8), by name; a consumer that could not be
    searched makes the answer unclear (7). Files go one by one, never a folder, and the manifest
    in .meshctl-trash has the command that brings each of them back.
    """
    from meshctl.outside.disk import walk
    from meshctl.outside.moves import alone
    from meshctl.payloads.trash import Place

    world = world_of(ctx)
    if ignore and not world.settings.reason:
        raise UsageError("--ignore needs a reason", hint="add --reason TEXT: it is written down")
    place = Place(at)
    world.output.progress(f"looking at {at}")
    walked = walk(at)
    chosen = chosen_of(world, place, walked, what)
    asked = _ask(world, place, walked, chosen, search or [], ignore or [])
    document = _document(place, walked, chosen, asked)
    if document.verdict != "free" or dry_run:
        world.output.show(document)
        return document.exit_code
    _say(world, document)
    world.output.confirm(f"Move {len(document.items)} files into {place.trash}?")
    with alone(place.trash, world.clock, world.settings.lock_wait_s):
        _still_free(_ask(world, place, walked, chosen, search or [], ignore or []))
        with to_be_ended(world):
            made = _retire(world, place, walked, chosen, ignore or [])
    world.output.show(_done(document, place, made, chosen))
    return 0


@contextlib.contextmanager
def to_be_ended(world: World) -> Iterator[None]:
    """Whoever stops it half-way is told that the same command goes on."""
    try:
        yield
    except KeyboardInterrupt:
        world.output.warn("some files were done, others not: run the same command again to go on")
        raise


def _ask(
    world: World, place: Place, walked: Walk, chosen: Chosen, search: list[Path], ignore: list[str]
) -> Asked:
    from meshctl.cli.payload_references import consumers, found_by

    of = consumers(world, place.folder, search)
    found = found_by(of, chosen.files, walked, place.folder)
    shared = sum(seen.names > 1 for seen in chosen.files)
    notes = [f"{shared} of the files have other names, which keep their bytes"] if shared else []
    notes += [f"not read, so links in it are not known: {path}" for path in walked.unreadable]
    return Asked(
        tuple(one for one in found if one.where not in ignore),
        tuple(one for one in of.said.unsearched if one.where not in ignore),
        (*of.notes, *notes),
    )


def _document(place: Place, walked: Walk, chosen: Chosen, asked: Asked) -> PayloadRetire:
    from meshctl.payloads.retire import stays_beside, warning_of
    from meshctl.ui.payload_tidy import retire_document

    gone = [item.path for _, item in chosen.already]
    stays = stays_beside(walked, [*(seen.path for seen in chosen.files), *gone])
    return retire_document(
        at=str(place.folder), files=chosen.files, already=chosen.already, found=asked.found,
        unsearched=asked.unsearched, stays=stays, warning=warning_of(stays), notes=asked.notes,
        hint=_hint(place, chosen, asked),
    )  # fmt: skip


def _hint(place: Place, chosen: Chosen, asked: Asked) -> str:
    """The next command. Of a folder that was asked for whole, its free files are named."""
    used = {one.path for one in asked.found}
    free = [seen.path for seen in chosen.files if seen.path not in used]
    if asked.found and chosen.whole and free:
        named = " ".join(shlex.quote(str(place.folder / path)) for path in free)
        at = "" if place.folder == Path() else f" --at {shlex.quote(str(place.folder))}"
        return f"a folder goes only where all of it is free; name files: {_COMMAND} {named}{at}"
    if asked.found:
        return (
            "let those refer to something else first, then run the same command again; one that "
            "means another thing is passed over by --ignore WHERE --reason TEXT"
        )
    if asked.unsearched:
        return (
            "give what they say with --search FILE, then pass over what was searched so, or never "
            "refers to these files: --ignore WHERE --reason TEXT"
        )
    return ""


_COMMAND = "meshctl payload retire"


def _still_free(asked: Asked) -> None:
    """The question may have waited for hours. Raises Refused."""
    if asked.found:
        found = asked.found[0]
        raise Refused(
            f"{found.where} refers to it since: {found.said}", place=found.path,
            hint="see who does now: the same command with --dry-run",
        )  # fmt: skip


def _retire(
    world: World, place: Place, walked: Walk, chosen: Chosen, ignored: list[str]
) -> Retirement | None:
    from meshctl.outside.disk import look
    from meshctl.payloads.retire import Why, finish, stays_beside
    from meshctl.payloads.retire import retire as move

    for seen in chosen.files:
        if look(place.folder, seen.path) != seen:
            raise Refused(
                "it changed since it was looked at", place=str(place.folder / seen.path),
                hint="run the same command again",
            )  # fmt: skip
    for before, item in chosen.already:
        finish(place, before.name, item, world.output.progress)
    if not chosen.files:
        return None
    why = Why(world.who.name, world.settings.reason or "", tuple(ignored))
    gone = [item.path for _, item in chosen.already]
    stays = stays_beside(walked, [*(seen.path for seen in chosen.files), *gone])
    return move(place, chosen.files, stays, why, world.clock.now(), world.output.progress)


def _done(
    document: PayloadRetire, place: Place, made: Retirement | None, chosen: Chosen
) -> PayloadRetire:
    from meshctl.ui.payload_tidy import retired_document

    trash = str(place.home(made.name)) if made else None
    return retired_document(document, trash, made, chosen.already)


def _say(world: World, document: PayloadRetire) -> None:
    """What would go, as talk: the document comes when it is done."""
    from meshctl.ui.render import render

    world.output.say("\n".join(render(document, 80)))
