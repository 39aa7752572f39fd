"""`meshctl cutover`, `rollback`, `resume` and `abort`: what moves traffic, or takes it back."""

from __future__ import annotations

import functools
from itertools import pairwise

import typer

from meshctl.cli.approve import approval
from meshctl.cli.deploy import SERVICE, SHOW_VALUES, told
from meshctl.cli.grounds import declared, move_of
from meshctl.cli.pairs import only_pair
from meshctl.cli.remembered import remembered
from meshctl.cli.world import world_of
from meshctl.errors import UsageError
from meshctl.rollout import verbs
from meshctl.rollout.choice import Choice

RELEASE = typer.Option(None, "--release", metavar="ID", help="By its release id.")
REVISION = typer.Option(None, "--revision", metavar="NAME", help="By the name of its revision.")
TAG = typer.Option(None, "--tag", metavar="TAG", help="By the tag that points at it.")


def cutover(
    ctx: typer.Context,
    service: str = SERVICE,
    release: str | None = RELEASE,
    revision: str | None = REVISION,
    tag: str | None = TAG,
    steps: str = typer.Option("100", "--steps", help="Percents, rising to 100: 5,100."),
    allow_unverified: bool = typer.Option(
        False, "--allow-unverified", help="Without a pass in the journal; needs --reason."
    ),
    follow_latest: bool = typer.Option(
        False, "--follow-latest", help="Hand traffic to LATEST afterwards."
    ),
    show_values: bool = SHOW_VALUES,
) -> int:
    """Give a verified revision the traffic, and ask it on the public URL."""
    world = world_of(ctx)
    if allow_unverified and not (world.settings.reason or "").strip():
        raise UsageError("--allow-unverified needs a reason", hint="say why: --reason TEXT")
    with declared(world, only_pair(world.fleet(), service)) as ground:
        move = move_of(
            ground,
            world.fleet(),
            steps=percents(steps),
            allow_unverified=allow_unverified,
            follow_latest=follow_latest,
        )
        outcome = verbs.cutover(
            ground, move, choice(release, revision, tag), approval(world, show_values=show_values)
        )
    return told(world, outcome, show_values=show_values)


def choice(release: str | None, revision: str | None, tag: str | None) -> Choice:
    """Which release is meant. Raises UsageError when it is said in two ways at once, or as
    nothing: an empty variable of a script must not mean the default."""
    if "" in (release, revision, tag):
        raise UsageError(
            "--release, --revision or --tag is empty", hint="name one, or leave it out"
        )
    if sum(value is not None for value in (release, revision, tag)) > 1:
        raise UsageError("--release, --revision and --tag exclude each other", hint="give one")
    return Choice(release=release, revision=revision, tag=tag)


def percents(text: str) -> tuple[int, ...]:
    """`5,100` -> (5, 100). Raises UsageError unless they rise to 100."""
    parts = text.split(",")
    steps = tuple(int(part) for part in parts if part.isascii() and part.isdigit())
    rising = all(one < other for one, other in pairwise(steps))
    if len(steps) != len(parts) or not rising or steps[0] < 1 or steps[-1] != 100:
        raise UsageError(
            f"--steps {text!r} is not a way to 100 %",
            hint="write whole percents, rising, the last one 100: --steps 5,100",
        )
    return steps


def rollback(
    ctx: typer.Context,
    service: str = SERVICE,
    to: str | None = typer.Option(
        None, "--to", metavar="RELEASE", help="An earlier release; else the one before."
    ),
    show_values: bool = SHOW_VALUES,
) -> int:
    """Give traffic back to the release that served before, then ask it.

    Works from the journal: the fleet file may be broken. Exits 4 when what it shifted to does not
    prove itself; it stays there.
    """
    world = world_of(ctx)
    if to == "":
        raise UsageError("--to is empty", hint="name a release, or leave it out")
    with remembered(world, service) as (ground, fleet):
        move = functools.partial(move_of, ground, fleet)
        outcome = verbs.rollback(ground, move, to, approval(world, show_values=show_values))
    return told(world, outcome, show_values=show_values)


def resume(ctx: typer.Context, service: str = SERVICE) -> int:
    """Go on with an unfinished run, forward or back, from where its journal stands."""
    world = world_of(ctx)
    with remembered(world, service) as (ground, _):
        outcome = verbs.resume(ground)
    return told(world, outcome)


def abort(ctx: typer.Context, service: str = SERVICE) -> int:
    """Undo what an unfinished run began, and end it."""
    world = world_of(ctx)
    with remembered(world, service) as (ground, _):
        outcome = verbs.abort(ground, approval(world))
    return told(world, outcome)
