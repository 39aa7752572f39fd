"""`meshctl emulator fault`: order faults of the embedded cloud, list them, clear them.

It only ever talks to the embedded cloud beside the fleet file; no other cloud knows these paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from meshctl.cli.embedded import Running
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, Unreachable, UsageError
from meshctl.outside.http import Request
from meshctl.quantities import parse_seconds
from meshctl.spec.near import near
from meshctl.ui.documents import FaultEntry, Faults

LIST, CLEAR, QUOTA = "list", "clear", "quota"
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
TIMED = ("latency", "unready")
WAIT_S = 15.0
FAULTS, SETTINGS = "/emulator/faults", "/emulator/settings"
_WHAT = "latency, status, cut, drop, endless, unready or quota; or list, or clear."
Json = dict[str, Any]


def fault(
    ctx: typer.Context,
    what: str = typer.Argument(..., metavar="WHAT", help=_WHAT),
    path: str = typer.Option("", metavar="REGEX", help="Strike paths that match; else all."),
    method: str = typer.Option("", metavar="METHOD", help="Strike this method; else all."),
    times: int = typer.Option(1, min=1, help="Strike so often."),
    always: bool = typer.Option(False, "--always", help="Strike until it is cleared."),
    after: int = typer.Option(0, min=0, help="Let so many matching requests pass first."),
    every: int = typer.Option(1, min=1, help="Then strike every n-th."),
    probability: float = typer.Option(1.0, min=0.0, max=1.0, help="Strike with this chance."),
    seed: int | None = typer.Option(None, help="Make the chance repeatable."),
    code: str | None = typer.Option(None, help="Of status: UNAVAILABLE, ABORTED, ..."),
    delay: str | None = typer.Option(None, metavar="DURATION", help="Of latency and unready."),
    limit: list[str] | None = typer.Option(
        None, metavar="QUOTA=N", help="Of quota, again and again."
    ),
) -> None:
    """Order a fault of the embedded cloud, list what is ordered, or clear it.

    latency answers --delay late. status answers an error of --code and does nothing. cut cuts the
    connection and does nothing; drop does it and loses the answer. endless does it, and its
    operation never ends. unready makes a revision that never gets ready, or fails after --delay.
    quota sets limits; clear sets them back, too.
    """
    order: Json = {"method": method.upper(), "path": path, "after": after, "every": every}
    order |= {"times": None if always else times, "probability": probability, "seed": seed}
    world = world_of(ctx)
    _known(what, method, code, delay, limit)
    order |= {"do": what, **_more(what, code, delay)}
    limits = _limits(limit or [])
    cloud = _Cloud(world, _running(world))
    if what == QUOTA:
        cloud.set_limits(limits)
    elif what == CLEAR:
        cloud.clear()
    elif what != LIST:
        cloud.order(order)
    world.output.show(cloud.faults())


def _known(
    what: str, method: str, code: str | None, delay: str | None, limit: list[str] | None
) -> None:
    """Raises UsageError for a word that is not known, and for an option of another fault."""
    from meshctl.emulator.failures import CODES
    from meshctl.emulator.faults import KINDS

    known = (*KINDS, QUOTA, LIST, CLEAR)
    if what not in known:
        raise UsageError(f"there is no fault {what!r}", hint=near(what, known))
    if method and method.upper() not in METHODS:
        raise UsageError(f"--method: no method {method!r}", hint=near(method.upper(), METHODS))
    if code is not None and code not in CODES:
        raise UsageError(f"--code: no code {code!r}", hint=near(code, CODES))
    given = {"--code": code, "--delay": delay, "--limit": limit}
    fits = {"--code": what == "status", "--delay": what in TIMED, "--limit": what == QUOTA}
    for option, value in given.items():
        if value and not fits[option]:
            raise UsageError(f"{option} is no option of {what}", hint="leave it out")
    if (what == "latency" and not delay) or (what == QUOTA and not limit):
        option = "--delay 2s" if what == "latency" else "--limit QUOTA=N"
        raise UsageError(f"{what} needs {option.split()[0]}", hint=f"add {option}")


def _more(what: str, code: str | None, delay: str | None) -> Json:
    if what == "status":
        return {"error_status": code or "UNAVAILABLE"}
    if delay is None:
        return {}
    try:
        return {"seconds": parse_seconds(delay)}
    except ValueError as error:
        raise UsageError(f"--delay: {error}", hint="such as 500ms or 10s") from error


def _limits(rows: list[str]) -> dict[str, int]:
    """`QUOTA=N` as numbers in the quota's own unit; UsageError for anything else."""
    from meshctl.emulator.quotas.known import ALL

    found = {}
    for row in rows:
        name, _, value = row.partition("=")
        if name not in ALL:
            raise UsageError(f"--limit: no quota {name!r}", hint=near(name, ALL))
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"--limit: {value!r} is no limit", hint=f"such as {name}=0")
        found[name] = int(value)
    return found


def _running(world: World) -> Running:
    embedded = world.embedded()
    running = embedded.running()
    if running is None:
        raise Refused(
            "the embedded cloud is stopped, and no other cloud takes faults",
            place=str(embedded.data),
            hint="start it: `meshctl emulator start`",
        )
    return running


class _Cloud:
    """The embedded cloud's own paths, asked and answered in JSON."""

    def __init__(self, world: World, running: Running) -> None:
        self._http, self._url = world.http, running.url

    def order(self, body: Json) -> None:
        self._ask("POST", FAULTS, body)

    def clear(self) -> None:
        self._ask("DELETE", FAULTS)
        if self._changed_limits():
            self._ask("PUT", SETTINGS, {"quota_limits": _default_limits()})

    def set_limits(self, limits: Mapping[str, int]) -> None:
        """Everywhere at once; quotas that are not named keep what they have."""
        now = self._ask("GET", SETTINGS)["quota_limits"]
        self._ask(
            "PUT",
            SETTINGS,
            {"quota_limits": now | {name: {"default": value} for name, value in limits.items()}},
        )

    def faults(self) -> Faults:
        rows = self._ask("GET", FAULTS)["faults"]
        return Faults(
            faults=tuple(_entry(row) for row in rows), quota_limits=self._changed_limits()
        )

    def _changed_limits(self) -> dict[str, dict[str, int]]:
        now, before = self._ask("GET", SETTINGS)["quota_limits"], _default_limits()
        return {name: rows for name, rows in now.items() if rows != before.get(name)}

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        request = Request(self._url + path, method, body=body)
        answer = self._http.send(request, timeout_s=WAIT_S)
        said = json.loads(answer.body)
        if answer.status == 400:
            raise UsageError(said["error"]["message"], hint="see `meshctl emulator fault --help`")
        if answer.status >= 300:
            raise Unreachable(
                f"the embedded cloud answered {answer.status} to {path}",
                place=self._url,
                hint="is it of this version? `meshctl emulator stop`, then start it again",
            )
        found: Json = said
        return found


def _default_limits() -> dict[str, dict[str, int]]:
    from meshctl.emulator.quotas.known import default_limits

    return default_limits()


def _entry(row: Json) -> FaultEntry:
    """As it is listed; the method and the path are null where every one is struck."""
    timed, refuses = row["do"] in TIMED, row["do"] == "status"
    return FaultEntry(
        fault=row["do"],
        method=row["method"] or None,
        path=row["path"] or None,
        code=row["error_status"] if refuses else None,
        seconds=row["seconds"] if timed else None,
        **{key: row[key] for key in ("times", "after", "every", "probability", "seed")},
        seen=row["seen"],
        hits=row["hits"],
    )
