"""`meshctl gc --services`: live services with a GPU that no fleet file declares."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from meshctl.cli.doors import region
from meshctl.cli.gc import say
from meshctl.cli.grounds import undeclared
from meshctl.cli.quota import doors
from meshctl.cli.world import World
from meshctl.errors import MeshctlError, Refused, UsageError
from meshctl.outside.clock import rfc3339
from meshctl.plan.prices import Prices, prices_of
from meshctl.plan.stale import Asked, ServiceFound, judged, users_of, way_out
from meshctl.quantities import parse_seconds
from meshctl.spec.model import CloudRunTarget
from meshctl.spec.near import near
from meshctl.state.site import Site, site_of

if TYPE_CHECKING:
    from meshctl.rollout.gc import Swept

LONGEST_S = 42 * 86400.0
"""How long Cloud Monitoring keeps its numbers."""


@dataclass(frozen=True)
class Live:
    """What one target has that no fleet file declares, each with its prices; `live` counts every
    service there."""

    target: str
    prices: Prices
    found: tuple[ServiceFound, ...]
    declared: frozenset[str]
    live: int


def stale_services(
    world: World, names: Sequence[str], stale_after: str, *, said_stale: bool, dry_run: bool
) -> int:
    """List them; remove the named ones after a yes. Raises Refused for one that must not go."""
    window_s = _window(stale_after)
    live = [
        _live(world, target, place, window_s, frozenset(names) if said_stale else frozenset())
        for target, place in _sites(world).values()
    ]
    chosen = [_chosen(live, name) for name in names]
    if dry_run or not chosen:
        return _shown(world, live, {}, 0)
    shown = [replace(one, found=tuple(f for f in one.found if f.seen.name in names))
             for one in live]  # fmt: skip
    say(world, _document(shown, {}, 0))
    world.output.confirm(f"Remove {', '.join(names)} with all revisions, for good?")
    swept = {found.seen.name: _removed(world, found, target) for target, found in chosen}
    code = max((one.error.exit_code for one in swept.values() if one.error), default=0)
    return _shown(world, shown, swept, code)


def _sites(world: World) -> dict[Site, tuple[str, CloudRunTarget]]:
    """Every place once, whatever the fleet calls it."""
    found: dict[Site, tuple[str, CloudRunTarget]] = {}
    for name, target in world.fleet().targets.items():
        if isinstance(target, CloudRunTarget):
            found.setdefault(site_of(target), (name, target))
    return found


def _live(
    world: World, target: str, place: CloudRunTarget, window_s: float, said: frozenset[str]
) -> Live:
    from meshctl.targets.cloudrun.undeclared import service_found

    world.output.progress(f"listing the services of {target}")
    names, door = _declared(world, place), region(world, target, place)
    prices = prices_of(world.fleet(), place)
    known = door.observe(sorted(names), access=False)
    asked = _asked(world, place, window_s)
    fleet = [seen for seen in known.services.values() if seen]
    found = []
    documents = list(door.api.list_services())
    for document in documents:
        name = str(document.get("name", "")).rpartition("/")[2]
        if name in names or not _has_gpu(document):
            continue
        one = service_found(document, door.api.list_revisions(name), asked(name), prices)
        one = replace(one, users=tuple(users_of(one.seen, fleet)))
        verdict, why = judged(one, said_stale=name in said)
        found.append(replace(one, verdict=verdict, why=why))
    rows = tuple(sorted(found, key=lambda f: f.seen.name))
    return Live(target, prices, rows, frozenset(names), len(documents))


def _declared(world: World, place: CloudRunTarget) -> set[str]:
    """The Cloud Run ids of the fleet in that place."""
    fleet = world.fleet()
    same = {name for name, t in fleet.targets.items()
            if isinstance(t, CloudRunTarget) and site_of(t) == site_of(place)}  # fmt: skip
    return {s.name or key for key, s in fleet.services.items() if same & {*s.target}}


def _has_gpu(document: dict[str, Any]) -> bool:
    from meshctl.targets.cloudrun.undeclared import template_in

    return template_in(document).gpu is not None


def _asked(world: World, place: CloudRunTarget, window_s: float) -> Any:
    """When a service was last asked, by its name; one reading of Monitoring for all of them."""
    from meshctl.observe.quota import last_requests

    now = world.clock.now()
    since = rfc3339(now - datetime.timedelta(seconds=window_s))[:19] + "Z"
    try:
        known = last_requests(doors(world, place).monitoring, now, window_s)
    except MeshctlError as error:
        why = " ".join(error.message.split())
        return lambda name: Asked(since=since, unknown=why)
    return lambda name: Asked(
        since=since,
        last=max(
            (period for (service, _), period in known.items() if service == name),
            key=lambda period: period.until,
            default=None,
        ),
    )


def _chosen(live: Sequence[Live], name: str) -> tuple[str, ServiceFound]:
    """The service that is meant. Raises UsageError for an unknown one, Refused for one that is
    declared, or not known to be stale."""
    if any(name in one.declared for one in live):
        raise Refused(
            f"{name} is declared in the fleet file",
            hint="take it out of the file first, and look whether anybody asks it",
        )
    found = [(one.target, each) for one in live for each in one.found if each.seen.name == name]
    if not found:
        known = [each.seen.name for one in live for each in one.found]
        raise UsageError(f"no undeclared service with a GPU is named {name!r}",
                         hint=near(name, known))  # fmt: skip
    if len(found) > 1:
        raise UsageError(f"{name} is in several places: {', '.join(t for t, _ in found)}",
                         hint="give a fleet file with one of these targets: -f FILE")  # fmt: skip
    target, one = found[0]
    if one.verdict != "stale":
        raise Refused(f"{name} stays: {one.why}", hint=way_out(one), place=target)
    return found[0]


def _removed(world: World, found: ServiceFound, target: str) -> Swept:
    from meshctl.rollout.gc import Swept, remove_service

    try:
        with undeclared(world, found.seen.name, target) as ground:
            return remove_service(ground, found)
    except MeshctlError as error:
        return Swept(error=error)


def _document(live: Sequence[Live], swept: dict[str, Swept], code: int) -> Any:
    from meshctl.ui.tidy import services_document
    from meshctl.ui.upkeep import LookedAt

    return services_document(
        {each.seen.name: one.target for one in live for each in one.found},
        [each for one in live for each in one.found],
        [one.prices for one in live],
        swept,
        code,
        LookedAt(services=sum(one.live for one in live)),
    )


def _shown(world: World, live: Sequence[Live], swept: dict[str, Swept], code: int) -> int:
    world.output.show(_document(live, swept, code))
    return code


def _window(text: str) -> float:
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--stale-after: {error}", hint="such as 7d or 36h") from error
    if not 3600 <= seconds <= LONGEST_S:
        raise UsageError(
            f"--stale-after {text} is out of range: 1h to 42d",
            hint="Cloud Monitoring keeps its numbers for 42 days",
        )
    return seconds
