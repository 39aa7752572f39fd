"""`meshctl status`, `verify`, `history` and `explain`: what runs, and how it came to that."""

from __future__ import annotations

import typer

from meshctl.cli.deploy import SERVICE, SERVICES, SHOW_VALUES
from meshctl.cli.doors import target_of
from meshctl.cli.grounds import move_of
from meshctl.cli.move import RELEASE, REVISION, TAG, choice
from meshctl.cli.remembered import elsewhere, remembered, whereabouts
from meshctl.cli.statuses import known_statuses
from meshctl.cli.world import World, world_of
from meshctl.errors import UsageError
from meshctl.observe.explain import explain as explain_run
from meshctl.observe.history import Past
from meshctl.observe.history import history as history_of
from meshctl.outside.objects import ObjectStore
from meshctl.rollout.verify import EXIT_CODES
from meshctl.rollout.verify import verify as verify_release
from meshctl.spec.model import CloudRunTarget, Target
from meshctl.spec.near import near
from meshctl.state.journal import all_runs, read_events, read_legible, subject_of
from meshctl.state.ledger import read_ledger
from meshctl.ui.convert import verify_document
from meshctl.ui.tell import explain_document, history_document, status_document

NEWEST = 20
"""Releases in the table of `history`; more than that scrolls away."""


def status(
    ctx: typer.Context,
    services: list[str] | None = SERVICES,
    exit_code: bool = typer.Option(False, "--exit-code", help="Exit 2 on drift, or an open run."),
    show_values: bool = SHOW_VALUES,
) -> int:
    """Say what serves, since when, and what differs from the fleet file.

    With a fleet file that is broken or gone it goes by the journals: what only the file says is
    unknown then. --exit-code ends with 64 where drift is unknown, also of services on hosts, which
    are not compared with the file yet. Exits 6 when a target cannot be reached: what is
    there is then unknown, never empty.
    """
    world = world_of(ctx)
    found = known_statuses(world, services)
    world.output.show(status_document(found, show_values=show_values))
    if any(one.state == "UNKNOWN" for one in found):
        return 6
    if exit_code and any(one.drift is None for one in found):
        return UsageError.exit_code
    return 2 if exit_code and any(one.drift or one.run for one in found) else 0


def verify(
    ctx: typer.Context,
    service: str = SERVICE,
    release: str | None = RELEASE,
    revision: str | None = REVISION,
    tag: str | None = TAG,
    only: str | None = typer.Option(None, "--only", help="Only these checks: stream,identity."),
) -> int:
    """Ask a running release the battery; changes nothing.

    Exits 9 when it fails, 7 when it is unclear. The verdict decides later cutovers, unless only
    a part was asked. With a fleet file that is broken or gone it asks what the journal says that
    the release was asked when it was placed.
    """
    world = world_of(ctx)
    names = tuple(name.strip() for name in only.split(",")) if only is not None else ()
    with remembered(world, service) as (ground, fleet):
        world.output.progress(f"asking {service}")
        which = choice(release, revision, tag)
        move = move_of(ground, fleet)
        verdict = verify_release(ground, move, which, names, by_journal=fleet is None)
    world.output.show(verify_document(verdict))
    return EXIT_CODES[verdict.verdict]


def history(
    ctx: typer.Context,
    service: str = SERVICE,
    all_: bool = typer.Option(False, "--all", help="Every release, not the newest 20 alone."),
) -> None:
    """List the releases of a service, who made them, and where a rollback would go.

    A table holds the newest 20, and those that serve or that a rollback would go to.
    """
    world = world_of(ctx)
    known, place = whereabouts(world, service)
    ledger = read_ledger(world.store(broken_file_ok=True), known.name, known.site)
    if silent := stopped(world, place):  # started only to be asked, it would run on
        told = history_of(ledger, None, known.site)
        note = f"{silent}, so which release serves is unknown"
        told = told.model_copy(update={"notes": (note, *told.notes), "chain": ()})
    else:
        told = history_of(
            ledger, target_of(world, known.target, place).look(known.name), known.site
        )
    every = all_ or world.output.format != "table"
    shown = told if every else told.model_copy(update={"past": newest(told.past)})
    world.output.show(history_document(shown))
    if len(shown.past) < len(told.past):
        world.output.say(f"{len(shown.past)} of {len(told.past)} releases; --all shows every one")


def stopped(world: World, place: Target) -> str:
    """Why a look at the place would first have to start an embedded cloud; empty when not."""
    if not isinstance(place, CloudRunTarget):
        return ""
    if away := elsewhere(world, place):
        return f"the embedded cloud is stopped, or of another folder: {away}"
    idle = place.emulator is True and world.embedded().running() is None
    return "the embedded cloud is stopped" if idle else ""


def newest(past: tuple[Past, ...], count: int = NEWEST) -> tuple[Past, ...]:
    """The first so many, and the marked ones behind them."""
    return tuple(one for n, one in enumerate(past) if n < count or one.serving or one.rollback_to)


def explain(
    ctx: typer.Context,
    run: str = typer.Argument(..., metavar="RUN|SERVICE", help="A run, or a service's newest."),
) -> None:
    """Tell the story of a run from its journal, and what can be typed next."""
    world = world_of(ctx)
    store = world.store(broken_file_ok=True)
    runs = all_runs(store)
    matching = [run] if run in runs else _about(store, runs, run)
    if not matching:
        services = {name.split(".")[0] for name in runs}
        hint = near(run, [*services, *runs] if "." in run else services)
        raise UsageError(f"no run or service named {run!r} in the journal", hint=hint)
    world.output.show(explain_document(explain_run(read_legible(store, matching[-1]))))


def _about(store: ObjectStore, runs: list[str], service: str) -> list[str]:
    """The runs of a service, by its key in the fleet or by its name on the target; what its key is
    is said by its newest run."""
    last = {subject_of(run): run for run in runs}
    firsts = read_events(store, [(run, 1) for run in last.values()])
    keys = dict(
        zip(last, (first.data.get("key") if first else None for first in firsts), strict=True)
    )
    return [run for run in runs if service in (run.split(".")[0], keys[subject_of(run)])]
