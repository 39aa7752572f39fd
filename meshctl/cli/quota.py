"""`meshctl quota`: what there is, what is free, who holds the rest; and the question for plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, Unreachable, UsageError
from meshctl.quantities import parse_seconds
from meshctl.spec.model import CloudRunTarget
from meshctl.spec.near import near
from meshctl.ui.asked import Quota, QuotaEntry

if TYPE_CHECKING:
    from meshctl.observe.quota import Doors
    from meshctl.plan.pools import QuotaSeen

Ask = Callable[[str], "QuotaSeen"]
"""What is known of the quota of a target."""
LONGEST_S = 86400 * 42.0
"""How long Cloud Monitoring keeps its numbers: six weeks."""


def quota(
    ctx: typer.Context,
    targets: list[str] | None = typer.Argument(
        None, metavar="TARGET", help="Cloud Run targets; all when none is named."
    ),
    stale_after: str = typer.Option(
        "7d", "--stale-after", help="Nobody asked it for so long: stale."
    ),
) -> int:
    """Show limits, free slots and who holds the rest, which of them are stale, and what to type.

    What may not be read is unknown, with the reason. Exits 6 when a target does not answer at all,
    and 8 when it does not let us list its services.
    """
    world, window_s = world_of(ctx), _window(stale_after)
    found = [_entry(world, name, window_s) for name in _named(world, targets)]
    world.output.show(Quota(targets=tuple(entry for entry, _ in found)))
    return max((code for _, code in found), default=0)


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


def _named(world: World, targets: list[str] | None) -> list[str]:
    fleet = world.fleet()
    for name in targets or ():
        if name not in fleet.targets:
            hint = near(name, fleet.targets)
            raise UsageError(f"no target named {name!r}", hint=hint, place=fleet.file)
        if not isinstance(fleet.targets[name], CloudRunTarget):
            hint = "quotas are those of Cloud Run targets"
            raise UsageError(f"{name} is a podman host", hint=hint, place=fleet.file)
    every = [name for name, t in fleet.targets.items() if isinstance(t, CloudRunTarget)]
    return list(dict.fromkeys(targets or every))


def _entry(world: World, name: str, window_s: float) -> tuple[QuotaEntry, int]:
    """One target; one that does not answer hides no other."""
    from meshctl.observe.quota import Rule, holdings, quota_report
    from meshctl.plan.pools import most_wanted
    from meshctl.plan.waysout import declared_names
    from meshctl.ui.quota import quota_entry, unread

    place = _place(world, name)
    world.output.progress(f"reading the quota of {name}")
    now = world.clock.now()
    try:
        seen = quota_report(doors(world, place), now, window_s)
    except (Unreachable, Refused) as error:
        return unread(name, place.project, place.region, error.message), error.exit_code
    rule = Rule.of(now, window_s)
    keys = declared_names(world.fleet(), place.project, place.region)
    wanted = most_wanted(world.fleet().services[key] for key in keys.values())
    return quota_entry(name, seen, holdings(seen, keys, rule), wanted, rule), 0


def _place(world: World, name: str) -> CloudRunTarget:
    place = world.fleet().targets[name]
    assert isinstance(place, CloudRunTarget), "only such targets are named"
    return place


def doors(world: World, place: CloudRunTarget) -> Doors:
    """What a reading of the quota asks."""
    from meshctl.observe.quota import Doors
    from meshctl.outside.cloudrun import RestCloudRun
    from meshctl.outside.monitoring import RestMonitoring
    from meshctl.outside.quotas import RestQuotas
    from meshctl.outside.retries import Patience

    cloud = world.cloud_of(place)
    return Doors(
        run=RestCloudRun(cloud, world.calls),
        quotas=RestQuotas(cloud, world.calls),
        monitoring=RestMonitoring(cloud, world.http, world.calls),
        patience=Patience(world.clock, note=world.output.detail),
    )


def asking(world: World, *, once: bool = False) -> Ask:
    """The question that a plan asks of its target only when it starts something large; `once` for
    several plans of one moment, while a deploy changes what the next one finds."""
    known: dict[str, QuotaSeen] = {}

    def ask(target: str) -> QuotaSeen:
        if not (once and target in known):
            known[target] = _seen(world, target)
        return known[target]

    return ask


def _seen(world: World, target: str) -> QuotaSeen:
    from meshctl.observe.quota import quota_seen

    world.output.progress(f"asking the quota of {target}")
    return quota_seen(doors(world, _place(world, target)), world.clock.now())


def ask_before_build(world: World, image: str, place: CloudRunTarget) -> None:
    """Raises Refused when a service that runs the image would find no place: a build is long."""
    from meshctl.plan.quota import concerns, refused_early
    from meshctl.plan.request import Request

    fleet = world.fleet()
    wanted = [
        (key, target)
        for key, service in fleet.services.items()
        for target in service.target
        if service.image == image and fleet.targets[target] == place and concerns(service)
    ]
    if not wanted:
        return
    seen = _seen(world, wanted[0][1])
    for key, target in wanted:
        reasons = refused_early(Request(fleet, key, target, salt="", quota=seen))
        if reasons:
            first = reasons[0]
            hint = f"{first.hint}; with `--despite-quota` it is built now, and deployed later"
            message = "; ".join(reason.message for reason in reasons)
            raise Refused(message, hint=hint, place=first.place)
