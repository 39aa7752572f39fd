"""Moves a state that an earlier meshctl wrote, by the names of targets, to sites.

Before, a run was `SERVICE.TARGET.TIME.SALT` and a lock `locks/TARGET/SERVICE.json`. Only folders
were written so. Every event is copied as it is and proved before the old one is removed, the first
one last: a move that was cut off is done again from the start, and does nothing twice.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from pydantic import ValidationError

from meshctl.errors import LockHeld, MeshctlError, Refused
from meshctl.outside.objects import DirStore, ObjectStore, Stored
from meshctl.state.holder import UNREADABLE, Holder, is_free, lock_key, read_lock
from meshctl.state.journal import Event, all_runs, read_event
from meshctl.state.site import Site, place_in, site_of

MIGRATE = "meshctl state migrate"


@dataclass
class Moved:
    """What a migration moved: runs by their new name, and locks."""

    runs: list[str] = field(default_factory=list)
    events: int = 0
    locks: list[str] = field(default_factory=list)


def refuse_old(store: DirStore, place: str) -> None:
    """Raises Refused while something is kept by a target's name: a rollout would not see it."""
    old = [name for folder in ("runs", "locks") for name in store.names(folder) if ":" not in name]
    if old:
        raise Refused(
            f"this state was written by an earlier meshctl ({old[0]} and {len(old) - 1} more)",
            place=place,
            hint=f"move it to the names of today: `{MIGRATE}`; it can be run twice",
        )


def old_runs(store: ObjectStore) -> list[str]:
    """The runs that are kept by a target's name."""
    return sorted({name for key in store.list("runs/") if ":" not in (name := key.split("/")[1])})


def old_locks(store: ObjectStore) -> list[str]:
    """The keys of locks that are kept by a target's name."""
    return [key for key in store.list("locks/") if ":" not in key.split("/")[1]]


def migrate(store: ObjectStore, now: datetime.datetime) -> Moved:
    """Move everything. Raises LockHeld while somebody holds an old lock, and Refused for a run that
    does not say where it was; nothing was moved then."""
    moved = Moved()
    locks = {key: _old_lock(store, key, now) for key in old_locks(store)}
    names = {run: _new_name(store, run) for run in old_runs(store)}
    sites = dict(_target_and_site(store, run) for run in all_runs(store)) if locks else {}
    for run, name in names.items():
        moved.events += _move(store, run, name)
        moved.runs.append(name)
    for key, stored in locks.items():
        _move_lock(store, key, stored, sites, now)
        moved.locks.append(key)
    return moved


def _old_lock(store: ObjectStore, key: str, now: datetime.datetime) -> Stored:
    stored = store.read(key)
    if stored is None:
        raise Refused(f"{key} was removed just now", hint=f"again: `{MIGRATE}`", place=key)
    holder = _holder(stored)
    if holder != UNREADABLE and not holder.frozen and not is_free(holder, now):
        message = f"{holder.who} is at work, by an earlier meshctl: {holder.what}"
        raise LockHeld(message, hint=f"wait until it is done, then `{MIGRATE}`", place=key)
    return stored


def _holder(stored: Stored) -> Holder:
    try:
        return Holder.model_validate_json(stored.data)
    except ValidationError:
        return UNREADABLE


def _opened(store: ObjectStore, run: str) -> Event:
    first = read_event(store, run, 1)
    if first is None or first.kind != "opened":
        raise _nowhere(run)
    return first


def _site(store: ObjectStore, run: str) -> Site:
    try:
        return site_of(place_in(_opened(store, run).data))
    except ValidationError as error:
        raise _nowhere(run) from error


def _nowhere(run: str) -> MeshctlError:
    return Refused(
        f"run {run} does not say in which project and region it was",
        place=f"runs/{run}",
        hint=f"look at it, take the folder away if it is not worth keeping, then `{MIGRATE}`",
    )


def _target_and_site(store: ObjectStore, run: str) -> tuple[str, Site]:
    plan = _opened(store, run).data.get("plan")
    return str(plan.get("target")) if isinstance(plan, dict) else "", _site(store, run)


def _new_name(store: ObjectStore, run: str) -> str:
    subject, stamp, salt = run.rsplit(".", 2)
    return f"{subject.partition('.')[0]}.{_site(store, run)}.{stamp}.{salt}"


def _move(store: ObjectStore, run: str, name: str) -> int:
    """Copy every event, then remove the old ones; how many there were."""
    keys = store.list(f"runs/{run}/")
    for key in keys:
        stored, new = store.read(key), key.replace(f"runs/{run}/", f"runs/{name}/", 1)
        if stored and store.create(new, stored.data) is None:
            there = store.read(new)
            if there is None or there.data != stored.data:
                raise Refused(f"{new} is there already, and says something else", place=key,
                              hint="compare the two, and take one away")  # fmt: skip
    for key in reversed(keys):
        if stored := store.read(key):
            store.delete(key, stored.generation)
    return len(keys)


def _move_lock(
    store: ObjectStore, key: str, stored: Stored, sites: dict[str, Site], now: datetime.datetime
) -> None:
    """A freeze is moved to where its target's runs were; a lease that ran out is dropped."""
    holder = _holder(stored)
    if holder == UNREADABLE or holder.frozen:
        _, target, file = key.split("/")
        if target not in sites:
            raise Refused(
                f"{key} is frozen, and no run says where {target} is",
                place=key,
                hint=f"remove the file, `{MIGRATE}`, then freeze it again: `meshctl lock acquire`",
            )
        service = file.removesuffix(".json")
        store.create(lock_key(service, sites[target]), stored.data)
        if read_lock(store, service, sites[target]) is None:
            raise Refused("the lock changed hands just now", place=key, hint=f"again: `{MIGRATE}`")
    store.delete(key, stored.generation)
