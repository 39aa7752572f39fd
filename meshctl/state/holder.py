"""Who holds a lock, as it is written, read and told."""

from __future__ import annotations

import datetime
import json

from pydantic import ValidationError

from meshctl.errors import LockHeld
from meshctl.outside.clock import parse_rfc3339
from meshctl.outside.objects import ObjectStore, Stored
from meshctl.outside.who import Who, is_dead
from meshctl.quantities import show_minute, show_second
from meshctl.spec.model import Frozen
from meshctl.state.site import Site


class Holder(Frozen):
    """Who holds a lock, since when, what for, and until when; `frozen` is a manual freeze."""

    person: str
    host: str
    boot: str
    pid: int
    pid_start: int
    what: str
    run: str | None
    since: str
    until: str
    frozen: bool = False
    fence: int = 1

    @property
    def who(self) -> Who:
        return Who(self.person, self.host, self.boot, self.pid, self.pid_start)


class Released(Frozen):
    """What stands in a lock that nobody holds, with the fence of who held it last."""

    released: str
    fence: int


def lock_key(service: str, site: Site) -> str:
    """Where the lock of a service lies, under its name on the target."""
    return f"locks/{site}/{service}.json"


UNREADABLE = Holder(
    person="somebody", host="unknown", boot="", pid=0, pid_start=0, what="its lock cannot be read",
    run=None, since="an unknown time", until="", frozen=True, fence=0,
)  # fmt: skip
"""Stands for whoever wrote a lock that is damaged, or of a later meshctl: it binds like a freeze,
for somebody may be at work behind it."""


def read_lock(store: ObjectStore, service: str, site: Site) -> Holder | None:
    """Who holds the lock, as it is written; a lease that ran out is still shown, and a lock
    that nobody can read is UNREADABLE."""
    return parsed(store.read(lock_key(service, site)))[0]


def parse_lock(stored: Stored | None) -> Holder | None:
    """Who holds the lock that was read; None where nobody does, UNREADABLE where nobody can say."""
    return parsed(stored)[0]


def parsed(stored: Stored | None) -> tuple[Holder | None, int]:
    """Who holds it, if anybody does, and the highest fence so far."""
    if stored is None:
        return None, 0
    try:
        written = json.loads(stored.data)
        if isinstance(written, dict) and "released" in written:
            return None, Released.model_validate(written).fence
        holder = Holder.model_validate(written)
        known = parse_rfc3339(holder.until).tzinfo is not None
    except (ValueError, ValidationError, RecursionError):
        return UNREADABLE, UNREADABLE.fence
    return (holder, holder.fence) if known else (UNREADABLE, UNREADABLE.fence)


def is_free(holder: Holder, now: datetime.datetime) -> bool:
    """Whether a written lock binds nobody any more."""
    if holder.frozen:
        return False
    return parse_rfc3339(holder.until) <= now or is_dead(holder.who)


def is_own_freeze(holder: Holder, who: Who) -> bool:
    """Frozen by the same person on the same machine; a rollout's lock is nobody's to release."""
    return holder.frozen and (holder.person, holder.host) == (who.person, who.host)


def held_error(held: Holder, label: str, asker: Who) -> LockHeld:
    """The refusal, with everything a person needs to decide what to do; `label` is the service as
    it is typed, `asker` whoever is refused."""
    if held == UNREADABLE:
        return LockHeld(
            f"{label} is locked, and the lock cannot be read",
            hint=f"if nobody works on it, remove it: `meshctl lock break {label} --reason TEXT`",
            place=f"lock {label}",
        )
    freeze = "frozen" if held.frozen else "locked"
    until = "until it is released" if held.frozen else f"lease until {show_second(held.until)}"
    run = f" (run {held.run})" if held.run else ""
    since = show_minute(held.since)
    return LockHeld(
        f"{label} is {freeze} by {held.who} since {since}, {until}: {held.what}{run}",
        hint=_way_in(held, label, asker),
        place=f"lock {label}",
    )


def _way_in(held: Holder, label: str, asker: Who) -> str:
    """What whoever is refused can do about it."""
    if is_own_freeze(held, asker):
        return f"you froze it; let it go: `meshctl lock release {label}`"
    if held.frozen:
        return f"ask {held.person}, or take it: `meshctl lock break {label} --reason TEXT`"
    over = f"`meshctl rollback {label}` and `meshctl abort {label}` take it over"
    return f"wait with --lock-wait 10m; {over}"


def lost_error(held: Holder | None, label: str, run: str | None) -> LockHeld:
    """What the run that had the lock is told when it has it no more: who has, and what to read."""
    hint = f"see `meshctl explain {run}`" if run else f"see `meshctl status {label}`"
    message = f"the lock of this run on {label} was taken away"
    if held is not None and held != UNREADABLE:
        message = f"this run was taken over by {held.who}: {held.what}"
    return LockHeld(message, hint=hint, place=f"lock {label}")
