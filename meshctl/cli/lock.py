"""`meshctl lock`: look at the locks, freeze a service by hand, let it go, break one.

A service that is frozen at night can be freed with a fleet file that is broken or gone: the
journals and the locks themselves then say what there is.
"""

from __future__ import annotations

from dataclasses import dataclass

import typer

from meshctl.cli.deploy import SERVICE, SERVICES
from meshctl.cli.known import known_services
from meshctl.cli.pairs import pairs, place_of, several_targets
from meshctl.cli.world import World, world_of
from meshctl.errors import UsageError
from meshctl.outside.objects import ObjectStore
from meshctl.spec.near import near
from meshctl.state import lock as locks
from meshctl.state.holder import Holder, held_error, is_free, is_own_freeze, read_lock
from meshctl.state.site import Site, site_of
from meshctl.ui.answers import LockEntry, Locks
from meshctl.ui.convert import lock_entry


@dataclass(frozen=True)
class Subject:
    """What one lock is on: `key` is typed, `name` is the service's name on the target."""

    key: str
    name: str
    target: str
    site: Site


def status(ctx: typer.Context, services: list[str] | None = SERVICES) -> None:
    """Say who holds which lock, since when, what for and until when.

    With a fleet file that is broken or gone it goes by the journals.
    """
    world = world_of(ctx)
    _show(world, *_subjects(world, services))


def acquire(
    ctx: typer.Context,
    service: str = SERVICE,
    message: str = typer.Option(..., "--message", "-m", help="Why nobody may deploy it."),
) -> None:
    """Freeze a service: nobody deploys it until the lock is released."""
    world = world_of(ctx)
    if not message.strip():
        raise UsageError("a freeze needs a reason that others can read", hint="say why: -m TEXT")
    subject = _subject(world, service)
    locks.acquire(
        _store(world),
        world.clock,
        world.who,
        service=subject.name,
        site=subject.site,
        label=subject.key,
        what=message,
        wait_s=world.settings.lock_wait_s,
        frozen=True,
    )
    _show(world, subject)


def release(ctx: typer.Context, service: str = SERVICE) -> None:
    """Let go a service that you froze."""
    world = world_of(ctx)
    subject = _subject(world, service)
    holder = _holder(world, subject)
    if holder is not None and not is_own_freeze(holder, world.who):
        raise held_error(holder, service, world.who)
    locks.break_lock(_store(world), world.clock, subject.name, subject.site)
    _show(world, subject)


def break_(ctx: typer.Context, service: str = SERVICE) -> None:
    """Take a lock away from whoever holds it; needs --reason, and asks."""
    world = world_of(ctx)
    subject = _subject(world, service)
    if not (world.settings.reason or "").strip():
        raise UsageError("breaking a lock needs a reason", hint="say why: --reason TEXT")
    holder = _holder(world, subject)
    if holder is not None:
        world.output.confirm(f"Take the lock on {service} away from {holder.who}: {holder.what}?")
        locks.break_lock(_store(world), world.clock, subject.name, subject.site)
        world.output.say(f"broken: it was held by {holder.who} for {holder.what!r}")
    _show(world, subject)


def _subject(world: World, key: str) -> Subject:
    """The lock of a service that has one target. Raises UsageError where there are several."""
    found = _subjects(world, [key])
    if len(found) > 1:
        raise several_targets(key, [subject.target for subject in found])
    return found[0]


def _subjects(world: World, keys: list[str] | None) -> list[Subject]:
    try:
        fleet = world.fleet()
    except UsageError as unusable:
        return _remembered(world, keys, unusable)
    return [
        Subject(
            key, fleet.services[key].name or key, target, site_of(place_of(fleet, (key, target)))
        )
        for key, target in pairs(fleet, keys)
    ]


def _remembered(world: World, keys: list[str] | None, unusable: UsageError) -> list[Subject]:
    found = list(known_services(world))
    if not found:
        raise unusable
    why = f"{unusable.message} ({unusable.place})" if unusable.place else unusable.message
    told = f"{world.file} cannot be used; going by the journals and the locks: {why}"
    world.output.warn(told)
    for key in keys or ():
        if not any(known.is_meant(key) for known in found):
            message = f"no journal and no lock is about a service named {key!r}"
            raise UsageError(message, hint=near(key, {known.key for known in found}))
    meant = [k for k in found if not keys or any(k.is_meant(key) for key in keys)]
    return [Subject(k.key, k.name, k.target, k.site) for k in meant]


def _store(world: World) -> ObjectStore:
    return world.store(broken_file_ok=True)


def _holder(world: World, subject: Subject) -> Holder | None:
    return read_lock(_store(world), subject.name, subject.site)


def _show(world: World, *subjects: Subject) -> None:
    world.output.show(Locks(locks=tuple(_entry(world, subject) for subject in subjects)))


def _entry(world: World, subject: Subject) -> LockEntry:
    holder = _holder(world, subject)
    free = holder is None or is_free(holder, world.clock.now())
    return lock_entry(subject.key, subject.target, holder, free=free)
