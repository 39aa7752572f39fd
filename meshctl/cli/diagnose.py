"""`meshctl diagnose`: names the first cause in a log, from a file or of a service."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from meshctl.cli.move import RELEASE, REVISION, TAG
from meshctl.cli.world import World, world_of
from meshctl.errors import UsageError

if TYPE_CHECKING:
    from meshctl.ui.asked import Findings

CHUNK = 1 << 20
STDIN = "-"
SINCE = "1h"


def diagnose(
    ctx: typer.Context,
    service: str | None = typer.Argument(None, metavar="SERVICE", help="The service."),
    log: str | None = typer.Option(
        None, "--log", metavar="FILE", help="Read this log instead; `-` is standard input."
    ),
    revision: str | None = REVISION,
    release: str | None = RELEASE,
    tag: str | None = TAG,
    candidate: bool = typer.Option(
        False, "--candidate", help="The newest revision, which does not serve."
    ),
    since: str | None = typer.Option(None, "--since", help="How far back: 10m, 24h, 7d; 1h."),
) -> None:
    """Name the first cause in a log, its phase, and what to do about it.

    Of a service, every revision is looked at unless one is named. A file may be the output of an
    engine, of podman, Docker or journalctl (also -o json), or an export of Cloud Logging; no fleet
    file is needed for it. Nothing known is no failure: the last distinct lines are shown, exit 0.
    """
    world = world_of(ctx)
    if (service is None) == (log is None):
        raise UsageError(
            "one of SERVICE and --log FILE is needed, and not both",
            hint="such as `journalctl -u chat -b | meshctl diagnose --log -`",
        )
    if log is not None:
        if candidate or revision or release or tag or since:
            raise UsageError("a log file is read whole", hint="leave the other option out")
        world.output.show(_of_file(world, log))
        return
    assert service is not None
    named = {"revision": revision, "release": release, "tag": tag}
    world.output.show(_of_service(world, service, candidate, since or SINCE, named))


def _of_file(world: World, name: str) -> Findings:
    from meshctl.observe.diagnose import diagnose_bytes
    from meshctl.ui.findings import findings_document

    if name == STDIN:
        if world.output.stdin.isatty():
            world.output.say("reading the log from the terminal; end it with Ctrl-D")
        return findings_document(name, diagnose_bytes(_chunks(world.output.stdin.buffer)))
    try:
        with Path(name).open("rb") as file:
            return findings_document(name, diagnose_bytes(_chunks(file)))
    except OSError as error:
        raise UsageError(
            f"the log cannot be read: {error.strerror}",
            place=name,
            hint="name another file, or `-` for standard input",
        ) from error


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """What there is, in pieces; a pipe gives what it has and is never waited on for more."""
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK):
        yield chunk


def _of_service(
    world: World, service: str, candidate: bool, since: str, named: dict[str, str | None]
) -> Findings:
    from meshctl.cli.grounds import region_in
    from meshctl.cli.logs import MOST, door, named_revision, window
    from meshctl.cli.logs_host import host_lines, hosts_of, refuse_unfit
    from meshctl.cli.remembered import remembered
    from meshctl.observe.diagnose import diagnose_lines
    from meshctl.observe.logs import Wanted, lines_of, why_nothing
    from meshctl.outside.clock import rfc3339
    from meshctl.outside.retries import Patience
    from meshctl.targets.podman.readings.unit import begun_at
    from meshctl.ui.findings import findings_document

    if hosts := hosts_of(world, service):
        refuse_unfit(service, candidate=candidate, **named)
        lines = host_lines(world, service, hosts, since_s=window(since), limit=MOST)
        lines = lines[begun_at([line.text for line in lines]) :]
        note = "" if lines else f"its unit wrote nothing within {since}, or there is no such unit"
        return findings_document(f"{', '.join(hosts)}/{service}", diagnose_lines(lines), note)
    begin = rfc3339(world.clock.now() - datetime.timedelta(seconds=window(since)))
    with remembered(world, service) as (ground, fleet):
        world.output.progress(f"reading the log of {service}")
        revision = named_revision(ground, fleet, candidate, **named)
        wanted = Wanted(ground.name, region_in(ground).region, begin, revision)
        patience = Patience(world.clock, note=world.output.detail)
        api = door(world, ground)
        lines = lines_of(patience.read(lambda: api.newest(wanted.filter(), MOST)))
    note = "" if lines else why_nothing(wanted, since)
    if len(lines) == MOST:
        note = f"the newest {MOST:,} entries; the cause may be older: name a revision"
    return findings_document(f"{ground.target.name}/{service}", diagnose_lines(lines), note)
