"""`meshctl payload restore` and `purge`: brings back what was retired, or deletes it for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.payload_retire import AT, to_be_ended
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, UsageError
from meshctl.quantities import parse_seconds, show_bytes

if TYPE_CHECKING:
    from meshctl.payloads.held import Held
    from meshctl.payloads.purge import Judged
    from meshctl.payloads.retention import Retention
    from meshctl.payloads.trash import Place
    from meshctl.ui.payload_upkeep import PayloadPurge

ITEMS = "RETIREMENT/PATH as retire said it, a whole RETIREMENT, or a path that only one has."


def restore(
    ctx: typer.Context,
    what: list[str] = typer.Argument(metavar="ITEM", help=ITEMS),
    at: Path = AT,
) -> int:
    """Bring files back from the trash to where they were, one by one.

    Nothing is overwritten: where another file has the place it is refused (8). What was brought
    back before counts as done.
    """
    from meshctl.outside.moves import alone
    from meshctl.payloads.held import held_in, named
    from meshctl.payloads.trash import Place, give_back, state_of
    from meshctl.ui.payload_tidy import restore_document

    world, place = world_of(ctx), Place(at)
    _there(place)
    with alone(place.trash, world.clock, world.settings.lock_wait_s):
        meant = named(held_in(place), what)
        before = {one.name: state_of(place, one.retirement.name, one.item) for one in meant}
        _refuse_gone(place, [one for one in meant if before[one.name] == "gone"])
        for one in meant:
            world.output.progress(f"restoring {one.item.path}")
            give_back(place, one.retirement.name, one.item)
    world.output.show(restore_document(str(at), meant, before))
    return 0


def purge(
    ctx: typer.Context,
    what: list[str] | None = typer.Argument(None, metavar="ITEM", help=f"{ITEMS} Else all."),
    at: Path = AT,
    grace: str = typer.Option("7d", "--grace", help="What was retired since then stays."),
    dry_run: bool = typer.Option(False, "--dry-run", help="List only; ask nothing."),
    even_rollback: bool = typer.Option(
        False, "--even-rollback", help="Also what a rollback may need; needs names and --reason."
    ),
) -> int:
    """Delete for good what lies in the trash longer than the grace period; lists it and asks first.

    Kept are files that a release holds which can still be rolled back to, as the journals tell,
    files that a process has open, and those that are not as they were retired. An item that was
    named and must stay is refused (8).
    """
    from meshctl.payloads.trash import Place

    world, place = world_of(ctx), Place(at)
    asked = _asked(world, what or [], grace, even_rollback)
    _there(place)
    judged = _judge(world, place, asked)
    if what:
        _refuse_kept([one for one in judged if one.verdict == "kept"])
    if dry_run or not _due(judged):
        return _shown(world, place, asked, judged)
    _say(world, _document(place, asked, judged, frozenset(), 0))
    size = show_bytes(sum(one.seen.real for one in _due(judged) if one.seen))
    world.output.confirm(f"Delete {len(_due(judged))} files of {size} for good?")
    return _shown(world, place, asked, judged, *_delete(world, place, asked, judged))


@dataclass(frozen=True)
class Asked:
    """What is to be purged, and what the journals say of it."""

    what: list[str]
    grace_s: float
    retention: Retention
    notes: tuple[str, ...]


def _asked(world: World, what: list[str], grace: str, even_rollback: bool) -> Asked:
    """Raises UsageError, and Unreachable where the journals cannot be asked: nothing is purged."""
    from meshctl.payloads.retention import Retention, retention_of

    grace_s = _seconds(grace)
    if not even_rollback:
        world.output.progress("asking the journals what can still be rolled back to")
        retention = retention_of(world.store(broken_file_ok=True))
        where = world.state_place(broken_file_ok=True)
        note = f"no journal in {where}: what could be rolled back to is not known"
        return Asked(what, grace_s, retention, () if retention.runs else (note,))
    if not (what and world.settings.reason):
        raise UsageError(
            "--even-rollback takes away what a rollback may need",
            hint="name the items, and say why with --reason TEXT",
        )
    return Asked(what, grace_s, Retention(), ())


def _due(judged: Sequence[Judged]) -> list[Held]:
    return [one.held for one in judged if one.verdict == "due"]


def _delete(
    world: World, place: Place, asked: Asked, judged: Sequence[Judged]
) -> tuple[frozenset[str], int]:
    """The names of what is gone, and the bytes that gave back. Judged once more, for the question
    may have waited."""
    from meshctl.outside.moves import alone
    from meshctl.payloads.purge import purge as delete

    approved = {one.name for one in _due(judged)}
    with alone(place.trash, world.clock, world.settings.lock_wait_s):
        still = [one for one in _due(_judge(world, place, asked)) if one.name in approved]
        with to_be_ended(world):
            freed = delete(place, still, lambda name: world.output.progress(f"deleting {name}"))
    return frozenset(one.name for one in still), freed


def _there(place: Place) -> None:
    if not place.trash.is_dir() or place.trash.is_symlink():
        raise UsageError(
            "there is no trash here: nothing was retired", place=str(place.folder),
            hint="say where payloads lie with --at DIR",
        )  # fmt: skip


def _refuse_gone(place: Place, gone: list[Held]) -> None:
    if gone:
        raise Refused(
            f"{gone[0].name} is neither in the trash nor at its place: it was purged or moved away",
            place=str(place.kept(gone[0].retirement.name, gone[0].item)),
            hint=f"fetch it again; its sha256 was {gone[0].item.sha256 or 'not known'}",
        )


def _seconds(grace: str) -> float:
    try:
        return parse_seconds(grace)
    except ValueError as error:
        raise UsageError(f"--grace: {error}", hint="such as 7d or 12h") from error


def _judge(world: World, place: Place, asked: Asked) -> list[Judged]:
    from meshctl.outside.procfs import processes
    from meshctl.payloads.held import held_in, named
    from meshctl.payloads.purge import judge

    held = [one for one in held_in(place) if one.seen]
    meant = named(held, asked.what) if asked.what else held
    running = processes() or ()
    return judge(meant, asked.retention, running, world.clock.now(), asked.grace_s)


def _refuse_kept(kept: list[Judged]) -> None:
    if kept:
        raise Refused(
            f"{kept[0].held.name} stays: {kept[0].why}", place=kept[0].held.item.path,
            hint="wait, or say --grace 0s; --even-rollback gives up a way back. See all: "
            "`meshctl payload purge --dry-run --at DIR`",
        )  # fmt: skip


def _shown(
    world: World, place: Place, asked: Asked, judged: Sequence[Judged],
    gone: frozenset[str] = frozenset(), freed: int = 0,
) -> int:  # fmt: skip
    world.output.show(_document(place, asked, judged, gone, freed))
    return 0


def _document(
    place: Place, asked: Asked, judged: Sequence[Judged], gone: frozenset[str], freed: int
) -> PayloadPurge:
    from meshctl.ui.payload_tidy import purge_document

    at = str(place.folder)
    return purge_document(at, judged, asked.grace_s, gone, freed, asked.notes)


def _say(world: World, document: PayloadPurge) -> None:
    """What would go, as talk: the document comes when it is done."""
    from meshctl.ui.render import render

    world.output.say("\n".join(render(document, 80)))
