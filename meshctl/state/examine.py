"""Reads a whole state and says what is wrong with it: gaps, what cannot be read, strange kinds.

It reads every object once, in parts, so it is for now and then and not for every deploy.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from meshctl.outside.objects import ObjectStore, Stored, read_many
from meshctl.state.boots import Boots
from meshctl.state.builds import Built
from meshctl.state.holder import UNREADABLE, Holder, is_free, parse_lock
from meshctl.state.journal import Event, EventKind
from meshctl.state.layout import MIGRATE
from meshctl.state.site import place_in, site_of

PART = 256
"""Objects held in memory at a time; an event is some kilobytes, a plan in it some tens."""
KINDS = frozenset(get_args(EventKind)) - {"unreadable"}
"""What may stand in a journal; `unreadable` only stands for what could not be read."""
_EVENT = re.compile(r"runs/([^/]+)/([0-9]{6})\.json")
_RESTORE = "restore the object, or work by hand from `meshctl status`"


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong: where, what, and what to do."""

    place: str
    message: str
    hint: str


@dataclass(frozen=True)
class LockSeen:
    """One lock that binds somebody; `state` is held, frozen, expired or unreadable."""

    site: str
    service: str
    state: Literal["held", "frozen", "expired", "unreadable"]
    holder: Holder


@dataclass
class Examined:
    """What a state holds. Sizes in bytes."""

    runs: set[str] = field(default_factory=set)
    events: int = 0
    builds: int = 0
    others: int = 0
    bytes: int = 0
    locks: list[LockSeen] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)

    @property
    def services(self) -> int:
        """How many services on how many sites there are runs of."""
        return len({run.rsplit(".", 2)[0] for run in self.runs})


def examine(store: ObjectStore, now: datetime.datetime) -> Examined:
    """Everything in the state, read and judged."""
    found = Examined()
    keys = store.list("")
    for start in range(0, len(keys), PART):
        part = keys[start : start + PART]
        for key, stored in zip(part, read_many(store, part), strict=True):
            if stored is not None:  # else it went since it was listed
                found.bytes += len(stored.data)
                found.wrong += _judged(found, key, stored, now)
    found.wrong += _gaps(keys)
    return found


def _judged(found: Examined, key: str, stored: Stored, now: datetime.datetime) -> Iterator[Wrong]:
    kind = key.partition("/")[0]
    if kind in ("runs", "locks") and ":" not in key.split("/")[1]:
        yield Wrong(key, "kept by a target's name, by an earlier meshctl", f"move it: `{MIGRATE}`")
    elif match := _EVENT.fullmatch(key):
        found.events += 1
        found.runs.add(match[1])
        yield from _event(key, match[1], int(match[2]), stored.data)
    elif kind == "locks":
        yield from _lock(found, key, stored, now)
    elif kind == "builds":
        found.builds += 1
        yield from _parsed(key, stored.data, Built)
    elif kind == "boots":
        found.others += 1
        yield from _parsed(key, stored.data, Boots)
    else:
        found.others += 1


def _event(key: str, run: str, number: int, data: bytes) -> Iterator[Wrong]:
    try:
        written: Any = json.loads(data)
    except (ValueError, RecursionError):
        yield Wrong(key, "this event is no JSON", _RESTORE)
        return
    kind = written.get("kind") if isinstance(written, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        yield Wrong(key, f"an event of the unknown kind {kind!r}", "use the meshctl that wrote it")
        return
    yield from _parsed(key, data, Event)
    if number == 1 and isinstance(written, dict):
        yield from _opening(key, run, written)


def _opening(key: str, run: str, written: dict[str, Any]) -> Iterator[Wrong]:
    """The first event begins the run, in the place that the run is named for."""
    if written.get("kind") != "opened":
        yield Wrong(key, "this run does not begin with its plan", _RESTORE)
        return
    try:
        site = site_of(place_in(written.get("data") or {}))
    except (ValidationError, AttributeError):
        yield Wrong(
            key,
            "this run does not say in which region or on which host it was",
            _RESTORE,
        )
        return
    if not run.rsplit(".", 2)[0].endswith(f".{site}"):
        yield Wrong(key, f"this run says that it was in {site}", _RESTORE)


def _lock(found: Examined, key: str, stored: Stored, now: datetime.datetime) -> Iterator[Wrong]:
    holder = parse_lock(stored)
    if holder is None:
        return
    _, site, file = key.split("/", 2)
    service = file.removesuffix(".json")
    state: Literal["held", "frozen", "expired", "unreadable"]
    if holder == UNREADABLE:
        state = "unreadable"
        hint = f"`meshctl lock break {service} --reason TEXT`, if nobody is at work"
        yield Wrong(key, "this lock cannot be read", hint)
    else:
        state = "frozen" if holder.frozen else "expired" if is_free(holder, now) else "held"
    found.locks.append(LockSeen(site, service, state, holder))


def _parsed(key: str, data: bytes, type_: type[BaseModel]) -> Iterator[Wrong]:
    try:
        type_.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        yield Wrong(key, f"it cannot be read: {where or 'it'}: {first['msg']}", _RESTORE)


def _gaps(keys: list[str]) -> Iterator[Wrong]:
    numbers: dict[str, list[int]] = {}
    for key in keys:
        if match := _EVENT.fullmatch(key):
            numbers.setdefault(match[1], []).append(int(match[2]))
    for run, found in sorted(numbers.items()):
        if missing := sorted(set(range(1, max(found) + 1)) - set(found)):
            shown = ", ".join(map(str, missing[:5]))
            yield Wrong(f"runs/{run}", f"events are missing: {shown}", _RESTORE)
