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
from meshctl.spec.model import CloudRunTarget, Fleet, PodmanTarget, Target
from meshctl.state.builds import Built
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.peers import announced
from meshctl.state.site import site_of

Found = tuple[Known, Target | None]


def statuses(world: World, services: list[str] | None) -> list[Status]:
    """What these services are right now, all of the fleet when none is named."""
    wanted = pairs(world.fleet(), services)
    seen = observed(world, wanted)
    return [status_of(_asked(world, pair), seen[pair[1]]) for pair in wanted]


def known_statuses(world: World, services: list[str] | None) -> list[Status]:
    """The same, and where the fleet file is broken, gone, or names a service no longer, what its
    journal can say of it; what only the file knows is unknown then."""
    told = recalled(world, list(services or ()))
    by_file = [] if told.declared is None else statuses(world, told.declared)
    return [*by_file, *_by_journal(world, told.known)]


def wanted_of(world: World, pair: Pair, ledger: Ledger) -> Template | None:
    """What the fleet file wants a service to run; None where its image has no recorded build."""
    fleet, service = world.fleet(), world.fleet().services[pair[0]]
    place, peers = place_of(fleet, pair), announced(ledger).text
    if isinstance(place, PodmanTarget):
        return _unit_of(fleet, pair[0], place, built_of(world, fleet, pair[0]), peers)
    image = image_reference(fleet.images[service.image], built_of(world, fleet, pair[0]))
    if image is None:
        return None
    return wanted_release(fleet, service, place, image, peers).template


def _unit_of(
    fleet: Fleet, key: str, place: PodmanTarget, built: Built | None, peers: str
) -> Template | None:
    from meshctl.plan.unit_template import unit_template
    from meshctl.targets.podman.wanted import wanted_unit

    text = wanted_unit(fleet, key, place, built, peers)
    return unit_template(text) if text else None


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
        prices=prices_of(fleet, place) if isinstance(place, CloudRunTarget) else None,
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
