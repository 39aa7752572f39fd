"""`meshctl state`: look after what is remembered between runs."""

from __future__ import annotations

from pathlib import Path

import typer

from meshctl.cli.world import World, world_of
from meshctl.outside.objects import DirStore, ObjectStore
from meshctl.outside.objects_place import open_bucket
from meshctl.outside.objects_probe import ProbedStore
from meshctl.state.examine import Examined, LockSeen, examine
from meshctl.state.layout import migrate as moved_of
from meshctl.ui.states import Migration, State, StateLock, StateProblem


def check(ctx: typer.Context) -> int:
    """Try the bucket's conditions anew, read everything, and say what is wrong.

    Reads every object once. Exits 9 when something is wrong, 8 when the endpoint ignores
    conditions; changes nothing but the proof of the conditions.
    """
    world = world_of(ctx)
    store, place = _opened(world)
    proof = store.prove() if isinstance(store, ProbedStore) else None
    world.output.progress(f"reading {place}")
    found = examine(store, world.clock.now())
    endpoint = store.endpoint if isinstance(store, ProbedStore) else None
    world.output.show(_document(place, endpoint, proof.passed if proof else None, found))
    return 9 if found.wrong else 0


def migrate(ctx: typer.Context) -> None:
    """Move what an earlier meshctl kept by a target's name to its project and region.

    Can be run twice: what is moved already is left alone.
    """
    world = world_of(ctx)
    store, place = _opened(world)
    moved = moved_of(store, world.clock.now())
    runs, locks = tuple(moved.runs), tuple(moved.locks)
    world.output.show(Migration(place=place, runs=runs, events=moved.events, locks=locks))


def _opened(world: World) -> tuple[ObjectStore, str]:
    """The store as it is, also one that no other command would take."""
    place = world.state_place(broken_file_ok=True)
    if isinstance(place, Path):
        return DirStore(place), str(place)
    return open_bucket(place, world.environ, world.clock, world.calls), str(place)


def _document(place: str, endpoint: str | None, proved: str | None, found: Examined) -> State:
    return State(
        place=place,
        endpoint=endpoint,
        proved=proved,
        services=found.services,
        runs=len(found.runs),
        events=found.events,
        builds=found.builds,
        others=found.others,
        bytes=found.bytes,
        locks=tuple(map(_lock, found.locks)),
        problems=tuple(
            StateProblem(place=one.place, message=one.message, hint=one.hint) for one in found.wrong
        ),
    )


def _lock(seen: LockSeen) -> StateLock:
    return StateLock(
        site=seen.site,
        service=seen.service,
        state=seen.state,
        who=seen.holder.who.name,
        since=seen.holder.since,
        what=seen.holder.what,
    )
