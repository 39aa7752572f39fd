"""What services are right now: by the fleet file, or by the journals where that cannot tell."""

from __future__ import annotations

from meshctl.cli.doors import binding, built_of
from meshctl.cli.known import Known
from meshctl.cli.observing import Spot, looked_at, observed
from meshctl.cli.pairs import Pair, pairs, place_of
from meshctl.cli.remembered import ELSEWHERE, elsewhere, recalled
from meshctl.cli.world import World
from meshctl.observe.status import Asked, Status, status_of
from meshctl.plan.observed import TargetSeen
from meshctl.plan.prices import prices_of
from meshctl.plan.release import Template
from meshctl.plan.wanted import image_reference, wanted_release
from meshctl.spec.model import CloudRunTarget
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.peers import announced
from meshctl.state.site import site_of

Found = tuple[Known, CloudRunTarget | None]


def statuses(world: World, services: list[str] | None) -> list[Status]:
    """What these services are right now, all of the fleet when none is named."""
    wanted = pairs(world.fleet(), services)
    seen = observed(world, wanted)
    on_hosts = _on_hosts(world, wanted)
    return [on_hosts.get(pair) or status_of(_asked(world, pair), seen[pair[1]]) for pair in wanted]


def _on_hosts(world: World, wanted: list[Pair]) -> dict[Pair, Status]:
    """Of those on hosts; a fleet without any does not wait for what reads them."""
    targets = world.fleet().targets
    if all(isinstance(targets[target], CloudRunTarget) for _, target in wanted):
        return {}
    from meshctl.cli.statuses_host import host_statuses

    return host_statuses(world, wanted)


def known_statuses(world: World, services: list[str] | None) -> list[Status]:
    """The same, and where the fleet file is broken, gone, or names a service no longer, what its
    journal can say of it; what only the file knows is unknown then."""
    told = recalled(world, list(services or ()))
    by_file = [] if told.declared is None else statuses(world, told.declared)
    return [*by_file, *_by_journal(world, told.known)]


def wanted_of(world: World, pair: Pair, ledger: Ledger) -> Template | None:
    """What the fleet file wants a service to run; None where its image has no recorded build."""
    fleet, service = world.fleet(), world.fleet().services[pair[0]]
    image = image_reference(fleet.images[service.image], built_of(world, fleet, pair[0]))
    if image is None:
        return None
    peers = announced(ledger).text
    return wanted_release(fleet, service, place_of(fleet, pair), image, peers).template


def _asked(world: World, pair: Pair) -> Asked:
    key = pair[0]
    fleet, service = world.fleet(), world.fleet().services[key]
    place = place_of(fleet, pair)
    name = service.name or key
    ledger = read_ledger(world.store(), name, site_of(place))
    return Asked(
        key=key,
        name=name,
        service=service,
        wanted=wanted_of(world, pair, ledger),
        ledger=ledger,
        held=binding(world, name, site_of(place)),
        prices=prices_of(fleet, place),
    )


def _by_journal(world: World, found: dict[str, Found]) -> list[Status]:
    """Every place that can be asked once, all at the same time."""
    names: dict[Spot, list[str]] = {}
    for known, place in found.values():
        if place is not None and not elsewhere(world, place):
            names.setdefault((known.target, place), []).append(known.name)
    seen = looked_at(world, names)
    return [
        status_of(_asked_of(world, typed, one[0]), _seen(world, one, seen))
        for typed, one in found.items()
    ]


def _asked_of(world: World, typed: str, known: Known) -> Asked:
    return Asked(
        key=typed,
        name=known.name,
        service=None,
        wanted=None,
        ledger=read_ledger(world.store(broken_file_ok=True), known.name, known.site),
        held=binding(world, known.name, known.site),
    )


def _seen(world: World, found: Found, seen: dict[Spot, TargetSeen]) -> TargetSeen:
    """What its target shows, or why nobody could ask it."""
    known, place = found
    if place is None:
        why = "no journal that can be read says where it is"
    elif away := elsewhere(world, place):
        why = f"it is on an embedded cloud, but {away}: {ELSEWHERE}"
    else:
        return seen[(known.target, place)]
    return TargetSeen(name=known.target, services={}, unknown=why)
