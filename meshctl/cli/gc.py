"""`meshctl gc`: what nobody uses any more, listed first, and taken away after a yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from meshctl.cli.grounds import declared
from meshctl.cli.pairs import Pair, pairs, region_of
from meshctl.cli.world import World, world_of
from meshctl.errors import Interrupted, MeshctlError, Refused, UsageError
from meshctl.plan.prices import prices_of

if TYPE_CHECKING:
    from meshctl.rollout.gc import Swept
    from meshctl.ui.tidy import Looked
    from meshctl.ui.upkeep import Gc

NAMES = typer.Argument(None, metavar="SERVICE", help="Services; all when none is named.")


def gc(
    ctx: typer.Context,
    names: list[str] | None = NAMES,
    tag: list[str] | None = typer.Option(
        None, "--tag", help="This tag, whoever made it and whatever it waits for; repeatable."
    ),
    services: bool = typer.Option(
        False, "--services", help="GPU services that no fleet declares; removed by name only."
    ),
    stale: bool = typer.Option(
        False, "--stale", help="With --services: nobody asks them, although nobody can tell."
    ),
    stale_after: str = typer.Option(
        "7d", "--stale-after", help="With --services: nobody asked it for so long."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="List only; ask nothing."),
) -> int:
    """List what nobody uses any more, ask, and take it away.

    Tags: those of candidates that do not serve, belong to no run that is open, wait for no
    cutover, and are not where a rollback would go. Tags that meshctl did not make are listed, and
    go only when --tag names them. Revisions stay, and what serves is never touched.

    --services lists live services with a GPU that the fleet file does not declare; it removes
    those that are named as SERVICE, for good, when nobody asked them for a while.
    """
    world = world_of(ctx)
    _must_fit(tag, services, stale, names)
    if services:
        from meshctl.cli.stale import stale_services

        return stale_services(world, names or [], stale_after, said_stale=stale, dry_run=dry_run)
    return _tags(world, names, frozenset(tag or ()), dry_run)


def _must_fit(tag: list[str] | None, services: bool, stale: bool, names: list[str] | None) -> None:
    """Raises UsageError for options that say nothing together."""
    if services and tag:
        raise UsageError("--tag and --services exclude each other", hint="give one of them")
    if stale and not services:
        raise UsageError("--stale is about services", hint="add --services, or use --tag TAG")
    if stale and not names:
        raise UsageError("--stale needs names", hint="say which: `meshctl gc NAME --services`")


def _tags(world: World, names: list[str] | None, named: frozenset[str], dry_run: bool) -> int:
    looked = [_look(world, pair, named) for pair in pairs(world.fleet(), names)]
    if named:
        looked = _only(looked, named)
    stale = sum(tag.stale for one in looked for tag in one.tags)
    if dry_run or not stale:
        return _shown(world, looked, {}, 0)
    say(world, _document(looked, {}, 0))
    world.output.confirm(f"Take {stale} tag{'' if stale == 1 else 's'} away?")
    swept = _sweep(world, looked)
    return _shown(world, looked, swept, _code(list(swept.values())))


def _look(world: World, pair: Pair, named: frozenset[str]) -> Looked:
    from meshctl.rollout.gc import look_at_tags
    from meshctl.ui.tidy import Looked

    prices = prices_of(world.fleet(), region_of(world.fleet(), pair))
    with declared(world, pair) as ground:
        world.output.progress(f"looking at {pair[0]} on {pair[1]}")
        seen, tags = look_at_tags(ground, prices, named)
    return Looked(pair[0], pair[1], tags, prices, seen)


def _only(looked: Sequence[Looked], named: frozenset[str]) -> list[Looked]:
    """The named tags alone. Raises UsageError for one that is not there, Refused for one that must
    not go."""
    kept = [replace(one, tags=tuple(t for t in one.tags if t.tag in named)) for one in looked]
    missing = named - {tag.tag for one in kept for tag in one.tags}
    if missing:
        known = sorted({tag.tag for one in looked for tag in one.tags})
        raise UsageError(
            f"no tag named {', '.join(sorted(missing))}",
            hint=f"there are: {', '.join(known) or 'none'}",
        )
    for one in kept:
        for tag in one.tags:
            if tag.bound:
                raise Refused(
                    f"tag {tag.tag} stays: {tag.revision}: {tag.why}",
                    hint=f"see `meshctl status {one.key}`",
                    place=f"{one.target}/{one.key}",
                )
    return kept


def _sweep(world: World, looked: Sequence[Looked]) -> dict[str, Swept]:
    """One run for each service that has something to lose; an error ends that service's alone, a
    signal all of it."""
    from meshctl.rollout.gc import Swept, sweep_tags

    swept: dict[str, Swept] = {}
    for one in looked:
        approved = frozenset((tag.tag, tag.revision) for tag in one.tags if tag.stale)
        if not approved:
            continue
        try:
            with declared(world, (one.key, one.target)) as ground:
                done = sweep_tags(ground, one.prices, approved)
        except MeshctlError as error:
            done = Swept(error=error)
        swept[f"{one.key}/{one.target}"] = done
        if isinstance(done.error, Interrupted):
            break
    return swept


def _code(swept: Sequence[Swept]) -> int:
    from meshctl.ui.convert import worst

    return worst(one.error.exit_code for one in swept if one.error)


def _document(looked: Sequence[Looked], swept: dict[str, Swept], code: int) -> Gc:
    from meshctl.ui.tidy import tags_document

    return tags_document(looked, swept, code)


def _shown(world: World, looked: Sequence[Looked], swept: dict[str, Swept], code: int) -> int:
    world.output.show(_document(looked, swept, code))
    return code


def say(world: World, document: Gc) -> None:
    """What would go, as talk: the document comes when it is done."""
    from meshctl.ui.render import render

    world.output.say("\n".join(render(document, 80)))
