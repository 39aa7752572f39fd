"""Makes the ground a verb stands on, for a service that a fleet declares, or for any other."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace

from meshctl.cli.doors import builds_door, built_of, host_of, proved, region
from meshctl.cli.pairs import Pair, place_of
from meshctl.cli.world import World
from meshctl.errors import Refused
from meshctl.outside.interrupts import Interrupts, watched
from meshctl.outside.keyed import keyed
from meshctl.plan.move import Move
from meshctl.rollout.ground import Ground
from meshctl.rollout.stage import Stage, stage
from meshctl.spec.model import CloudRunTarget, Fleet, PodmanTarget, Rollout
from meshctl.spec.model import Target as Place
from meshctl.state.builds import Built
from meshctl.targets.target import Target
from meshctl.ui.follow import Follow


@contextlib.contextmanager
def declared(world: World, pair: Pair) -> Iterator[Ground]:
    """The ground for a service of the fleet."""
    fleet = world.fleet()
    service = fleet.services[pair[0]]
    place = place_of(fleet, pair)
    built = built_of(world, fleet, pair[0])
    with watched(world.settings.timeout_s) as interrupts:
        name, public = service.name or pair[0], service.access == "public"
        ground = _ground(world, pair[0], name, pair[1], place, built, interrupts)
        yield replace(ground, public=public)


@contextlib.contextmanager
def unlisted(world: World, key: str, name: str, target: str, place: Place) -> Iterator[Ground]:
    """The ground for a service that no fleet need declare."""
    with watched(world.settings.timeout_s) as interrupts:
        yield _ground(world, key, name, target, place, None, interrupts)


@contextlib.contextmanager
def undeclared(world: World, name: str, target: str) -> Iterator[Ground]:
    """The ground for a live service that no fleet declares; its name there is all it has."""
    place = place_of(world.fleet(), (name, target))
    with unlisted(world, name, name, target, place) as ground:
        yield ground


def _ground(
    world: World,
    key: str,
    name: str,
    target: str,
    place: Place,
    built: Built | None,
    interrupts: Interrupts,
) -> Ground:
    from meshctl.build.origin import origin

    found, proves = _target(world, name, target, place, built, interrupts)
    return Ground(
        store=world.store(broken_file_ok=True),
        clock=world.clock,
        http=keyed(world.http, world.environ),
        who=world.who,
        target=found,
        place=place,
        key=key,
        name=name,
        interrupts=interrupts,
        stage=proves,
        follow=Follow(world.output),
        note=lambda evidence: world.output.detail(f"{evidence.name} {evidence.verdict}"),
        reason=world.settings.reason or "",
        lock_wait_s=world.settings.lock_wait_s,
        origin=origin(world.shell, world.file.parent),
    )


def _target(
    world: World,
    name: str,
    target: str,
    place: Place,
    built: Built | None,
    interrupts: Interrupts,
) -> tuple[Target, Stage]:
    """The target, and what proves that a release can run there: a host is asked itself."""
    if isinstance(place, PodmanTarget):
        host = host_of(world, target, place, interrupts)
        return host, functools.partial(host.stage, name)
    proves = functools.partial(
        stage,
        built=built,
        builds=builds_door(world, place),
        prove=functools.partial(proved, world, place, interrupts),
    )
    return region(world, target, place), proves


def region_in(ground: Ground) -> CloudRunTarget:
    """The region of a service. Raises Refused for a host, which has no log in the cloud."""
    if isinstance(ground.place, CloudRunTarget):
        return ground.place
    raise Refused(
        f"{ground.key} is on a host, whose log is read there",
        place=ground.target.name,
        hint=f"`ssh {ground.place.address} journalctl -u {ground.name}`",
    )


def move_of(ground: Ground, fleet: Fleet | None, **asked: object) -> Move:
    """What a cutover, rollback or verify is about; without a fleet the policy is the default."""
    service = fleet.services[ground.key] if fleet else None
    policy = service.rollout if service else Rollout()
    return Move(
        key=ground.key,
        name=ground.name,
        target=ground.target.name,
        ledger=ground.ledger(),
        battery=service.checks if service else ("contract",),
        policy=policy,
        **asked,  # type: ignore[arg-type]
    )
