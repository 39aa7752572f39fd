"""What a lane knows of one model, and which models may be loaded together. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from meshctl.mesh.waiting import Stays, Waiting

STEADY_S = 60.0
"""An engine that served this long crashed by itself, not because it cannot run."""

Phase = Literal["empty", "loading", "ready", "ending"]
"""Whether a process of the model may exist, and what it does; only `empty` has none."""


def pause_s(crashes: int) -> float:
    """Seconds before the next start: none after the first crash, then 1, 2, 4 ... up to 30."""
    return 0.0 if crashes <= 1 else min(30.0, 2.0 ** (crashes - 2))


@dataclass(frozen=True)
class Member:
    """A model as its lane sees it."""

    model: str
    parallel: int = 1
    """Requests served at once."""
    sets: tuple[str, ...] = ()
    """The sets it belongs to; in none, it is loaded alone."""
    pinned: bool = False
    """Loaded beside every set, and never unloaded."""
    ttl_s: float | None = None
    """Unloaded after so long without a request; None is never."""


@dataclass(eq=False)
class Waiter:
    """A request in the queue."""

    request: int
    seat: Seat
    since: float
    told: Waiting | None = None


@dataclass(eq=False)
class Seat:
    """One model: the phase of its engine, whom it serves, and who waits for it."""

    member: Member
    phase: Phase = "empty"
    since: float = 0.0
    """When it became ready."""
    idle_since: float = 0.0
    serving: dict[int, float] = field(default_factory=dict)
    """Requests that have their turn, and since when."""
    waiting: dict[int, Waiter] = field(default_factory=dict)
    """Requests in the queue, in the order of their arrival."""
    wanted: bool = False
    """It starts again by itself when its engine ended: nobody took its place on purpose."""
    down: str | None = None
    """Why its engine ended, until one is ready again."""
    crashes: int = 0
    retry_at: float = 0.0

    @property
    def holds(self) -> bool:
        """It keeps its place: an engine may exist, or comes back for whom it served."""
        return self.phase != "empty" or bool(self.serving)

    @property
    def free(self) -> bool:
        """One request more could be served now."""
        return self.phase == "ready" and len(self.serving) < self.member.parallel

    @property
    def stays(self) -> Stays | None:
        """Why it is not unloaded on request; None where nobody needs it."""
        if self.member.pinned:
            return "pinned"
        if self.serving or self.waiting:
            return "serving" if self.serving else "waited_for"
        return "not_loaded" if self.phase == "empty" else None

    @property
    def oldest(self) -> Waiter | None:
        """Who waits longest for the model."""
        return next(iter(self.waiting.values()), None)

    @property
    def expires_at(self) -> float:
        """When it is unloaded for want of requests; never while it has one, or is not ready."""
        ttl_s = self.member.ttl_s
        if ttl_s is None or self.phase != "ready" or self.serving or self.waiting:
            return inf
        return self.idle_since + ttl_s

    @property
    def open(self) -> bool:
        """Its engine is ready, or will be without anybody having to go."""
        return self.phase in ("loading", "ready") or (self.phase == "ending" and bool(self.down))

    @property
    def rank(self) -> tuple[bool, float]:
        """The order of loading: who was served when its engine ended, then who asked first."""
        return not self.serving, self.oldest.request if self.oldest else inf

    def claims(self, at: float) -> bool:
        """It should be loaded, and may be tried."""
        return self.phase == "empty" and at >= self.retry_at and bool(self.waiting or self.wanted)

    def load(self, at: float) -> None:
        """Its engine is ready."""
        self.phase, self.down, self.since, self.idle_since = "ready", None, at, at

    def refuses(self, at: float) -> str | None:
        """Why a new request is not taken: the engine is coming back after it ended, or cannot."""
        may_try = self.phase == "empty" and at >= self.retry_at
        return None if may_try else self.down

    def end(self, at: float, why: str) -> None:
        """Its engine ended by itself; decides when the next start is due."""
        steady = self.phase == "ready" and at - self.since > STEADY_S
        self.crashes = 1 if steady else self.crashes + 1
        self.retry_at = at + pause_s(self.crashes)
        self.down, self.phase = why, "ending"


def sets_of(members: Iterable[Member]) -> tuple[frozenset[str], ...]:
    """The sets of models that may be loaded at the same time, every pinned one in each of them."""
    known = tuple(members)
    pinned = {member.model for member in known if member.pinned}
    names = dict.fromkeys(name for member in known for name in member.sets)
    named = [{m.model for m in known if name in m.sets} for name in names]
    alone = [{m.model} for m in known if not m.sets]
    return tuple(frozenset(models | pinned) for models in (*named, *alone))


def in_the_way(
    model: str, loaded: Collection[str], sets: Iterable[frozenset[str]]
) -> tuple[str, ...]:
    """Who must go before the model may be loaded: as few as possible, the first set of equals."""
    choices = (
        tuple(other for other in loaded if other not in allowed)
        for allowed in sets
        if model in allowed
    )
    return min(choices, key=len)
