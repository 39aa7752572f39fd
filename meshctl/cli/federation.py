"""Looks at coordinators and their peers for the commands about them."""

from __future__ import annotations

from meshctl.cli.doors import region
from meshctl.cli.known import known_services
from meshctl.cli.observing import observed
from meshctl.cli.pairs import Pair, only_pair, place_of
from meshctl.cli.world import World
from meshctl.errors import MeshctlError, UsageError
from meshctl.observe.peers import Look, Peer, peers_of
from meshctl.plan.observed import TargetSeen
from meshctl.spec.model import CloudRunTarget, Fleet, PodmanTarget
from meshctl.spec.near import near
from meshctl.spec.peers import coordinators_of, peers_of_coordinator
from meshctl.state.ledger import read_ledger
from meshctl.state.peers import announced
from meshctl.state.site import site_of
from meshctl.ui.federation import PeerRow


def coordinators(fleet: Fleet, asked: list[str] | None = None) -> list[str]:
    """The coordinators that are meant; all of them when none is named. Raises UsageError."""
    known = [key for key, service in fleet.services.items() if service.role == "coordinator"]
    for key in asked or ():
        if key not in known:
            raise UsageError(
                f"no coordinator named {key!r}", hint=near(key, known), place=fleet.file
            )
    return list(dict.fromkeys(asked or known))


def coordinator_of(fleet: Fleet, peer: str | None, asked: str | None) -> str:
    """Who announces: whoever was named, else the coordinator that the peer is like, else the only
    one there is. Raises UsageError where that leaves a choice, or nobody."""
    if asked is not None:
        return coordinators(fleet, [asked])[0]
    found = coordinators_of(fleet, peer) if peer in fleet.services else tuple(coordinators(fleet))
    if len(found) == 1:
        return found[0]
    if not found:
        message = "the fleet declares no coordinator"
        raise UsageError(message, hint="write `role: coordinator`", place=fleet.file)
    raise UsageError(
        f"there are several coordinators: {', '.join(found)}",
        hint="name one: --to or --from COORDINATOR",
    )


def declared_peer(fleet: Fleet, key: str) -> str:
    """The key of a peer. Raises UsageError for a service that is none, or that is not there."""
    known = [name for name, service in fleet.services.items() if service.role == "peer"]
    if key in known:
        return key
    if key in fleet.services:
        role, place = fleet.services[key].role, fleet.place(f"services.{key}")
        hint = "write `role: peer` and `like: COORDINATOR`"
        raise UsageError(f"{key} is no peer but a {role}", hint=hint, place=place)
    raise UsageError(f"no peer named {key!r}", hint=near(key, known), place=fleet.file)


def looks_at(world: World, keys: list[str]) -> dict[str, Look]:
    """Each of these services as it is; their cloud is asked once, they themselves never."""
    fleet = world.fleet()
    pairs = [only_pair(fleet, key) for key in keys]
    seen = observed(world, pairs)
    return {pair[0]: _look(world, pair, seen) for pair in pairs}


def _look(world: World, pair: Pair, seen: dict[str, TargetSeen]) -> Look:
    key, target = pair
    name = world.fleet().services[key].name or key
    place = place_of(world.fleet(), pair)
    found = seen[target]
    ledger = read_ledger(world.store(), name, site_of(place))
    return Look(found.services.get(name), ledger, found.unknown)


def rows_of(world: World, coordinator: str) -> tuple[Peer, ...]:
    """Every peer of a coordinator."""
    fleet = world.fleet()
    looks = looks_at(world, [coordinator, *peers_of_coordinator(fleet, coordinator)])
    own = looks.pop(coordinator)
    return peers_of(fleet, coordinator, own, announced(own.ledger), looks)


def rows_or_none(world: World, coordinator: str) -> tuple[Peer, ...]:
    """The same after something was done: that they cannot be seen now must not hide what was."""
    try:
        return rows_of(world, coordinator)
    except MeshctlError as error:
        world.output.warn(f"the peers cannot be shown: {error.message}")
        return ()


def row(peer: Peer) -> PeerRow:
    """A peer as it is shown."""
    return PeerRow(**peer.model_dump())


def left_behind(world: World, peer: str) -> tuple[str, str]:
    """The command that removes the service of a peer that was taken out, where it is seen to be
    there; else a note that it is not, or that nobody can see."""
    found = service_of(world, peer)
    if found is None:
        return "", ""
    name, place = found
    try:
        there = region(world, peer, place).look(name) is not None
    except MeshctlError as error:
        unseen = f"whether {peer} still has its service cannot be seen: {error.message}"
        return "", f"{unseen}; if it has: `{deletion(name, place)}`"
    return (deletion(name, place), "") if there else ("", f"{peer} has no service any more")


def service_of(world: World, peer: str) -> tuple[str, CloudRunTarget] | None:
    """The name of its service and where it is: as the fleet declares it, else as the journals say.
    None when nobody knows, or when they know it in several places."""
    fleet = world.fleet()
    rows: list[tuple[str, CloudRunTarget | PodmanTarget | None]]
    if peer in fleet.services:
        service = fleet.services[peer]
        rows = [(service.name or peer, fleet.targets[service.target[0]])]
    else:
        rows = [(one.name, at) for one, at in known_services(world).items() if one.key == peer]
    name, place = rows[0] if len(rows) == 1 else ("", None)
    return (name, place) if isinstance(place, CloudRunTarget) else None


def deletion(name: str, place: CloudRunTarget) -> str:
    """The command that removes a service."""
    return f"gcloud run services delete {name} --region {place.region} --project {place.project}"
