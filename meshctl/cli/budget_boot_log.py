"""Where the log of a boot comes from: a file, stdin, or what Cloud Logging has of a revision."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshctl.cli.world import World
from meshctl.errors import UsageError
from meshctl.outside.clock import rfc3339

if TYPE_CHECKING:
    from meshctl.budget.answer import Answer
    from meshctl.rollout.ground import Ground

LARGEST_LOG = 64 * 2**20
NEWEST = 10_000
"""Entries of a service's log that are read: some instance began among them."""


@dataclass(frozen=True)
class Log:
    """Lines of one log, and what to call it."""

    lines: list[str]
    source: str


def log_of_file(world: World, path: str) -> Log:
    """Any bytes; what is no UTF-8 is replaced. Raises UsageError."""
    name = "stdin" if path == "-" else path
    try:
        data = _bytes(world, path)
    except OSError as error:
        raise UsageError(
            f"the log cannot be read: {error.strerror}", place=name,
            hint="name another one, or - for stdin",
        ) from error  # fmt: skip
    if len(data) > LARGEST_LOG:
        hint = "cut it to one boot, such as with `tail -n 5000`"
        raise UsageError("the log is larger than 64 MiB", place=name, hint=hint)
    return Log(data.decode("utf-8", "replace").splitlines(), name)


def _bytes(world: World, path: str) -> bytes:
    if path != "-":
        with Path(path).open("rb") as file:
            return file.read(LARGEST_LOG + 1)
    stdin = world.output.stdin
    raw = getattr(stdin, "buffer", None)
    return raw.read(LARGEST_LOG + 1) if raw else stdin.read().encode("utf-8", "replace")


def log_of_service(
    world: World, answer: Answer, on: str | None, revision: str | None, since: str
) -> Log:
    """The newest boot in the log of a revision. Raises UsageError for a host."""
    from meshctl.cli.grounds import declared
    from meshctl.cli.pairs import pairs
    from meshctl.spec.model import CloudRunTarget

    fleet, key = world.fleet(), answer.subject
    target = on or pairs(fleet, [key])[0][1]
    if not isinstance(fleet.targets[target], CloudRunTarget):
        hint = f"hand it over: `podman logs CONTAINER 2>&1 | meshctl budget boot {key} --log -`"
        raise UsageError(f"{target} is a host, whose log is not read from here", hint=hint)
    with declared(world, (key, target)) as ground:
        named = revision or _serving(ground)
        world.output.progress(f"reading the log of {named}")
        entries = _entries(world, ground, named, since)
    tenant = answer.part.tenant
    return Log(newest_boot(entries, tenant.engine, tenant.name), named)


def _serving(ground: Ground) -> str:
    """The revision with most traffic. Raises Refused where nothing is there."""
    from meshctl.rollout.look import existing

    seen = existing(ground, ground.target.look(ground.name))
    if not seen.serving:
        hint = f"name one: --revision NAME; `meshctl history {ground.key}` lists them"
        raise UsageError(f"no revision of {ground.key} has traffic", hint=hint)
    return max(seen.serving, key=lambda row: row.percent).revision


def _entries(world: World, ground: Ground, revision: str, since: str) -> list[dict[str, Any]]:
    from meshctl.cli.grounds import region_in
    from meshctl.cli.logs import door, window
    from meshctl.observe.logs import Wanted
    from meshctl.outside.retries import Patience

    begin = rfc3339(world.clock.now() - datetime.timedelta(seconds=window(since)))
    wanted = Wanted(ground.name, region_in(ground).region, begin, revision)
    api = door(world, ground)
    patience = Patience(world.clock, note=world.output.detail)
    return patience.read(lambda: api.newest(wanted.filter(), NEWEST))


def newest_boot(entries: list[dict[str, Any]], engine: str, model: str) -> list[str]:
    """The lines of the newest instance that came up, else of the newest that said anything: those
    of two at once would be one engine with twice the buffers."""
    from meshctl.budget.boot import boot_of_log
    from meshctl.observe.logs import lines_of

    instances: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:  # the newest first
        labels = entry.get("labels")
        name = labels.get("instanceId") if isinstance(labels, dict) else None
        instances.setdefault(name if isinstance(name, str) else "", []).append(entry)
    logs = [[part for line in lines_of(each) for part in line.text.split("\n")]
            for each in instances.values()]  # fmt: skip
    read = [(boot_of_log(engine, lines, model), lines) for lines in logs]
    up = [lines for found, lines in read if found.ready and found.said_sizes]
    begun = [lines for found, lines in read if found.said_anything]
    return next(iter(up or begun), [])
