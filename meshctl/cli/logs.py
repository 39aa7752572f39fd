"""`meshctl logs`: what a service wrote, the oldest first."""

from __future__ import annotations

import datetime
import functools
import re
from typing import TYPE_CHECKING

import typer

from meshctl.cli.deploy import SERVICE
from meshctl.cli.grounds import move_of, region_in
from meshctl.cli.logs_host import host_logs, hosts_of, refuse_unfit
from meshctl.cli.move import RELEASE, REVISION, TAG, choice
from meshctl.cli.remembered import remembered
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, UsageError
from meshctl.observe.logs import SEVERITIES, Line, Wanted, lines_of, why_nothing
from meshctl.outside.clock import rfc3339
from meshctl.outside.retries import Patience
from meshctl.quantities import parse_seconds
from meshctl.spec.near import near
from meshctl.ui.asked import Logs
from meshctl.ui.logs import logs_document

if TYPE_CHECKING:
    from meshctl.outside.logs import LogsApi
    from meshctl.plan.observed import ServiceSeen
    from meshctl.rollout.ground import Ground
    from meshctl.spec.model import Fleet

MOST = 10_000
POLL_S = 2.0
"""Between two looks while following: Cloud Logging allows a project 60 reads a minute."""
LATE_S = 20.0
"""How far back each look reaches: entries arrive out of order and some seconds late."""


def logs(
    ctx: typer.Context,
    service: str = SERVICE,
    revision: str | None = REVISION,
    release: str | None = RELEASE,
    tag: str | None = TAG,
    candidate: bool = typer.Option(
        False, "--candidate", help="The newest revision, which does not serve."
    ),
    since: str = typer.Option("1h", "--since", help="How far back: 10m, 24h, 7d."),
    severity: str | None = typer.Option(None, "--severity", help="From here up: warning, error."),
    limit: int = typer.Option(200, "--limit", help=f"Newest entries, at most {MOST}."),
    follow: bool = typer.Option(False, "--follow", help="Go on until stopped."),
) -> None:
    """Show what a service wrote, the oldest first, and the line that names a reason.

    Every revision, unless one is named. Times are UTC.
    """
    world = world_of(ctx)
    _refuse_unfit(world, limit, follow)
    level, window_s = _level(severity), window(since)
    if hosts := hosts_of(world, service):
        refuse_unfit(service, revision=revision, release=release, tag=tag, candidate=candidate)
        host_logs(
            world, service, hosts, since_s=window_s, severity=level, limit=limit, follow=follow
        )
        return
    begin = rfc3339(world.clock.now() - datetime.timedelta(seconds=window_s))
    with remembered(world, service) as (ground, fleet):
        world.output.progress(f"reading the log of {service}")
        named = named_revision(
            ground, fleet, candidate, release=release, revision=revision, tag=tag
        )
        wanted = Wanted(ground.name, region_in(ground).region, begin, named, level)
        api = door(world, ground)
        patience = Patience(world.clock, note=world.output.detail)
        lines = lines_of(patience.read(lambda: api.newest(wanted.filter(), limit)))
        world.output.show(_shown(ground, lines, _note(wanted, lines, limit, since)))
        if follow:
            _follow(world, ground, api, wanted, lines, patience)


def door(world: World, ground: Ground) -> LogsApi:
    """Where the log of a service is kept."""
    from meshctl.outside.logs import RestLogs

    return RestLogs(world.cloud_of(region_in(ground)), world.http, world.calls)


def _refuse_unfit(world: World, limit: int, follow: bool) -> None:
    if not 1 <= limit <= MOST:
        raise UsageError(
            f"--limit {limit} is out of range: 1 to {MOST}", hint="such as --limit 500"
        )
    if follow and world.output.format in ("json", "yaml"):
        raise UsageError(
            f"--follow has no end, and {world.output.format} is one document",
            hint="leave one of them out",
        )


def window(text: str) -> float:
    """Seconds back. Raises UsageError."""
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--since: {error}", hint="such as 10m, 24h or 7d") from error
    if not 0 < seconds <= 86400 * 3650:
        raise UsageError(f"--since {text} is no time back", hint="such as 10m, 24h or 7d")
    return seconds


def _level(text: str | None) -> str | None:
    if text is None or text.upper() in SEVERITIES:
        return text.upper() if text else None
    known = [name.lower() for name in SEVERITIES]
    raise UsageError(f"no severity {text!r}", hint=near(text.lower(), known))


def named_revision(
    ground: Ground,
    fleet: Fleet | None,
    candidate: bool,
    *,
    release: str | None,
    revision: str | None,
    tag: str | None,
) -> str | None:
    """The revision that is meant. A name is taken as it is: its log outlives a revision."""
    from meshctl.rollout.choice import chosen
    from meshctl.rollout.look import existing

    asked = choice(release, revision, tag)
    if candidate and (release or revision or tag):
        raise UsageError("--candidate names a revision already", hint="leave the other option out")
    if revision:
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", revision):
            hint = f"`meshctl history {ground.key}` lists them"
            raise UsageError(f"{revision!r} is no name of a revision", hint=hint)
        return revision
    if not (candidate or release or tag):
        return None
    seen = existing(ground, ground.target.look(ground.name))
    if candidate:
        return _candidate(ground, seen)
    return chosen(seen, move_of(ground, fleet), asked).name


def _candidate(ground: Ground, seen: ServiceSeen) -> str:
    """The newest revision, whether it got ready or not, as long as it does not serve."""
    newest = seen.latest_created
    if newest is None or newest in {row.revision for row in seen.serving}:
        raise Refused(
            f"{ground.key} has no candidate: its newest revision serves",
            hint=f"`meshctl logs {ground.key}` shows what serves",
        )
    return newest


def _note(wanted: Wanted, lines: list[Line], limit: int, since: str) -> str:
    if not lines:
        return why_nothing(wanted, since)
    if len(lines) == limit:
        return f"the newest {limit} entries; there may be more: --limit {min(MOST, limit * 5)}"
    return ""


def _shown(ground: Ground, lines: list[Line], note: str = "") -> Logs:
    return logs_document(ground.key, ground.target.name, lines, note)


def _follow(
    world: World,
    ground: Ground,
    api: LogsApi,
    wanted: Wanted,
    shown: list[Line],
    patience: Patience,
) -> None:
    """Look again and again, a little further back than the newest line; each line once."""
    known = {(line.at, line.id) for line in shown}
    while True:
        ground.interrupts.check()
        world.clock.sleep(POLL_S)
        start = world.clock.now() - datetime.timedelta(seconds=LATE_S + POLL_S)
        again = Wanted(wanted.service, wanted.region, rfc3339(start), wanted.revision,
                       wanted.severity)  # fmt: skip
        found = lines_of(patience.read(functools.partial(api.newest, again.filter(), MOST)))
        first = shown[0].at if shown else ""  # what --limit cut off stays cut off
        fresh = [line for line in found if (line.at, line.id) not in known and line.at >= first]
        known = {(line.at, line.id) for line in found}
        if fresh:
            world.output.show(_shown(ground, fresh))
