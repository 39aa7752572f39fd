"""The append-only record of a rollout, from which it is resumed, rolled back and explained.

A run is a folder of numbered objects, `runs/RUN/000001.json`, each created only if absent. Whoever
finds its next number taken has been fenced off by somebody else and must stop at once.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, ValidationError

from meshctl.errors import LockHeld, Refused
from meshctl.outside.clock import rfc3339
from meshctl.outside.objects import ObjectStore, read_many
from meshctl.spec.model import Frozen
from meshctl.state.site import Site

EventKind = Literal[
    "opened", "started", "finished", "failed", "verdict", "undoing", "undone", "paused", "closed",
    "fenced", "unreadable",
]  # fmt: skip


class Event(Frozen):
    """One thing that happened in a run; `step` is the step's id where it is about one."""

    at: str
    kind: EventKind
    step: str | None = None
    data: dict[str, Any] = Field(default={})


UNREADABLE = Event(at="", kind="unreadable")
"""Stands for an event that is there and says nothing legible; nobody ever writes it."""


class Damaged(Refused):
    """A journal was changed from outside. Nothing was begun because of it."""


class Fenced(LockHeld):
    """Somebody else took over this run; nothing more may be done or undone by us."""


class Journal:
    """One run's events. `follow` sees each event after it is safe on disk."""

    def __init__(
        self,
        store: ObjectStore,
        run: str,
        events: tuple[Event, ...] = (),
        follow: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.store, self.run, self.follow = store, run, follow
        self.events = list(events)
        self._unsure: Event | None = None

    def append(self, event: Event) -> None:
        """Write the next event. Raises Fenced when its number is taken, and Unreachable when nobody
        knows whether it was written: then the next one finds that out first, lest we take our own
        event for somebody else's."""
        self._find_out()
        self._unsure = event
        if self.store.create(self._next, _written(event)) is None:
            raise Fenced(
                f"run {self.run} was taken over by somebody else",
                hint=f"see `meshctl explain {self.run}`",
            )
        self._taken(event)

    def _find_out(self) -> None:
        if self._unsure is not None:
            stored = self.store.read(self._next)
            if stored is not None and stored.data == _written(self._unsure):
                self._taken(self._unsure)

    def _taken(self, event: Event) -> None:
        self._unsure = None
        self.events.append(event)
        self.follow(event)

    @property
    def _next(self) -> str:
        return _key(self.run, len(self.events) + 1)

    @property
    def finished(self) -> frozenset[str]:
        """Ids of the steps that were recorded as done and not undone since."""
        done: set[str] = set()
        for event in self.events:
            if event.kind == "finished" and event.step:
                done.add(event.step)
            if event.kind == "undone" and event.step:
                done.discard(event.step)
        return frozenset(done)

    @property
    def closed(self) -> Event | None:
        """The event that ended the run, when it has ended."""
        return next((e for e in self.events if e.kind in ("closed", "fenced")), None)

    @property
    def opened(self) -> Event | None:
        return self.events[0] if self.events and self.events[0].kind == "opened" else None


def _written(event: Event) -> bytes:
    return event.model_dump_json().encode()


def _key(run: str, number: int) -> str:
    return f"runs/{run}/{number:06d}.json"


def read_journal(
    store: ObjectStore, run: str, follow: Callable[[Event], None] = lambda _: None
) -> Journal:
    """Every event of a run, in order. Raises Damaged when one cannot be read."""
    events: list[Event] = []
    while (event := read_event(store, run, len(events) + 1)) is not None:
        events.append(event)
    return Journal(store, run, tuple(events), follow)


def read_legible(store: ObjectStore, run: str) -> Journal:
    """Every event of a run, UNREADABLE where one cannot be read: for whoever only tells of it."""
    keys = (key for key in store.list(f"runs/{run}/") if _NUMBERED.fullmatch(key))
    found = (stored for stored in read_many(store, sorted(keys)) if stored)
    return Journal(store, run, tuple(_parse(stored.data) for stored in found))


def read_event(store: ObjectStore, run: str, number: int) -> Event | None:
    """One event of a run, counted from 1; None past the end. Raises Damaged."""
    stored = store.read(_key(run, number))
    event = _parse(stored.data) if stored else None
    if event is UNREADABLE:
        raise damaged(f"event {number} of run {run} cannot be read", _key(run, number))
    return event


def read_events(store: ObjectStore, wanted: list[tuple[str, int]]) -> list[Event | None]:
    """These events, each by its run and its number; several at a time where the store can. One
    that says nothing legible is UNREADABLE: it must not hide the others."""
    found = read_many(store, [_key(run, number) for run, number in wanted])
    return [_parse(stored.data) if stored else None for stored in found]


def count_events(store: ObjectStore, service: str, site: Site) -> dict[str, int]:
    """How many events each run of a service has, the oldest run first, by one listing. Files of
    other names are not ours. A run that lacks one in the middle has 0: what came after it cannot
    be trusted."""
    numbers: dict[str, list[int]] = {}
    for key in store.list(f"runs/{service}.{site}."):
        if match := _NUMBERED.fullmatch(key):
            numbers.setdefault(match[1], []).append(int(match[2]))
    return {run: _counted(sorted(numbers[run])) for run in sorted(numbers, key=_age)}


def _counted(numbers: list[int]) -> int:
    return len(numbers) if numbers == list(range(1, len(numbers) + 1)) else 0


_NUMBERED = re.compile(r"runs/([^/]+)/([0-9]{6})\.json")


def _parse(data: bytes) -> Event:
    try:
        return Event.model_validate(json.loads(data))
    except (ValueError, ValidationError, RecursionError):
        return UNREADABLE


def damaged(message: str, place: str) -> Damaged:
    """The refusal over a journal that somebody changed."""
    hint = (
        "put back what was there; `meshctl rollback SERVICE` works without it, by the labels on "
        "the service"
    )
    return Damaged(message, place=place, hint=hint)


def run_name(service: str, site: Site, at: str, salt: str) -> str:
    """`chat.local:local1.20261130T204512345678.7k2m`: sorts by time, to the microsecond (two runs
    of one service may begin within a second), and is unique."""
    stamp = "".join(letter for letter in at if letter.isdigit() or letter == "T")
    return f"{service}.{site}.{stamp}.{salt}"


def runs_of(store: ObjectStore, service: str, site: Site | None = None) -> list[str]:
    """Names of the runs of a service, the oldest first."""
    prefix = f"runs/{service}.{site}." if site else f"runs/{service}."
    names = {key.split("/")[1] for key in store.list(prefix)}
    return sorted(names, key=_age)


def subject_of(run: str) -> str:
    """What a run is about: `chat.local:local1`, the service's name on the target and its site."""
    return run.rsplit(".", 2)[0]


def _age(run: str) -> list[str]:
    return run.split(".")[-2:]


def next_at(store: ObjectStore, service: str, site: Site, now: datetime.datetime) -> str:
    """The time of a new run of a service, as `later` says."""
    return later(runs_of(store, service, site), now)


def later(known: list[str], now: datetime.datetime) -> str:
    """The time of a run after these: now, or just after the newest one where some clock went wrong,
    for the order of runs decides which verdict is the latest."""
    if known:
        newest = datetime.datetime.strptime(known[-1].split(".")[-2], "%Y%m%dT%H%M%S%f")
        after = newest.replace(tzinfo=datetime.UTC) + datetime.timedelta(microseconds=1)
        now = max(now, after)
    return rfc3339(now)


def all_runs(store: ObjectStore) -> list[str]:
    """Names of all runs, the oldest first."""
    names = {key.split("/")[1] for key in store.list("runs/")}
    return sorted(names, key=_age)
