"""Deletes for good what lies in the trash long enough, and what nothing may still need."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from meshctl.outside.clock import parse_rfc3339
from meshctl.outside.moves import remove, remove_empty
from meshctl.outside.procfs import Process
from meshctl.payloads.held import Held
from meshctl.payloads.retention import Retention
from meshctl.payloads.trash import Place, Retirement, delete, homes, is_it, retirements, state_of
from meshctl.quantities import show_seconds

DAY_S = 86400


@dataclass(frozen=True)
class Judged:
    """Whether it may go, and why not."""

    held: Held
    verdict: Literal["due", "kept"]
    why: str


def judge(
    held: Sequence[Held],
    retention: Retention,
    running: Sequence[Process],
    now: datetime.datetime,
    grace_s: float,
) -> list[Judged]:
    """Each that lies in the trash, with the first reason to keep it."""
    return [_judge(one, retention, running, now, grace_s) for one in held if one.seen]


def _judge(
    one: Held,
    retention: Retention,
    running: Sequence[Process],
    now: datetime.datetime,
    grace_s: float,
) -> Judged:
    why = (
        _changed(one)
        or _young(one.retirement, now, grace_s)
        or retention.why(one.item.bytes, one.item.sha256)
        or _open(one, running)
    )
    return Judged(one, "kept" if why else "due", why)


def _changed(one: Held) -> str:
    unchanged = one.seen is not None and is_it(one.seen, one.item)
    return "" if unchanged else "it is not the file that was retired"


def _young(retirement: Retirement, now: datetime.datetime, grace_s: float) -> str:
    """A time that nobody can read, or that is still to come, is no age."""
    try:
        age_s = (now - parse_rfc3339(retirement.at)).total_seconds()
    except (ValueError, TypeError):
        return "nobody can read when it was retired"
    if age_s >= grace_s:
        return ""
    if age_s < 0:
        return "it was retired in the future, says its manifest: is the clock right?"
    return f"it stays for another {shown_span(grace_s - age_s)}"


def shown_span(seconds: float) -> str:
    """Days where it is more than two of them."""
    days = seconds / DAY_S
    return f"{days:.1f} days".replace(".0 ", " ") if days > 2 else show_seconds(seconds) or "0s"


def _open(held: Held, running: Sequence[Process]) -> str:
    identity = held.seen.identity if held.seen else None
    holder = next((one for one in running if one.files and identity in one.files), None)
    return f"{holder.shown} has it open" if holder else ""


def purge(place: Place, due: Sequence[Held], tell: Callable[[str], None]) -> int:
    """Delete these for good; how many bytes of the disk that gave back. `tell` hears of each before
    it goes, and may raise to stop; what was begun then is ended by the next purge."""
    freed = 0
    for one in due:
        tell(one.name)
        delete(place, one.retirement.name, one.item)
        freed += one.seen.real if one.seen and one.seen.names == 1 else 0
    sweep(place, tell)
    return freed


def sweep(place: Place, tell: Callable[[str], None]) -> None:
    """Forget retirements of which nothing is in the trash any more: all of it was restored, purged,
    or never came. Their folders go as far as they are empty."""
    known = {one.name: one.items for one in retirements(place)}
    for name in homes(place):
        if all(state_of(place, name, item) != "trash" for item in known.get(name, ())):
            tell(name)
            remove(place.home(name) / "RESTORE.txt")
            remove(place.home(name) / "manifest.json")
            remove_empty(place.home(name))
