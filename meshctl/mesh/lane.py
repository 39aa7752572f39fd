"""Decides who has a turn on the cards of one group: events in, effects out. Pure.

The law stands in design.md. Every event is heard, then the lane advances: it serves who may be
served, loads and unloads, tells the waiting where they stand, and says when it wants to be woken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, inf

from meshctl.mesh.events import (
    Asked,
    Effect,
    Ended,
    Event,
    Gone,
    Grant,
    Keep,
    Left,
    Loaded,
    RefuseDown,
    RefuseFull,
    Start,
    Stop,
    Tell,
    Unload,
    Wake,
    Wanted,
)
from meshctl.mesh.seat import Member, Seat, Waiter, in_the_way, sets_of
from meshctl.mesh.standing import Claim, news

LONGEST_RETRY_S = 60
FIRST_GUESS_S = 2.0
"""How long a turn lasts, as long as none has ended."""


@dataclass(frozen=True)
class Rules:
    """How a lane weighs one model against another; the defaults are those of the mesh."""

    queue: int = 512
    """Requests that may wait; as many as Ollama lets wait."""
    min_residency_s: float = 5.0
    """A model that is loaded stays at least so long, so that alternating clients do not thrash."""
    max_wait_s: float = 30.0
    """After so long, later requests for the loaded model no longer go first."""


class Lane:
    """The models of one group; `on` is its only door."""

    def __init__(self, members: Iterable[Member], rules: Rules) -> None:
        self.seats = {member.model: Seat(member) for member in members}
        self._sets = sets_of(seat.member for seat in self.seats.values())
        self._rules = rules
        self._queue: dict[int, Waiter] = {}
        self._served: dict[int, Seat] = {}
        self._effects: list[Effect] = []
        self._alarm = inf
        self._turn_s = FIRST_GUESS_S

    def on(self, event: Event) -> list[Effect]:
        """What is to be done, in this order, now that this has happened."""
        self._effects = []
        if event.at >= self._alarm:
            self._alarm = inf
        self._hear(event)
        self._serve(event.at)
        self._expire(event.at)
        self._load(event.at)
        self._inform(event.at)
        self._ask_to_be_woken(event.at)
        return self._effects

    # What is heard

    def _hear(self, event: Event) -> None:
        match event:
            case Asked(at, request, model):
                self._ask(at, request, self.seats[model])
            case Left(at, request):
                self._leave(at, request)
            case Wanted(_, model):
                seat = self.seats[model]
                seat.wanted = seat.wanted or (seat.phase == "empty" and seat.down is None)
            case Unload(_, model):
                self._unload(self.seats[model])
            case Loaded(at, model) if self.seats[model].phase == "loading":
                self.seats[model].load(at)
            case Ended(at, model, why) if self.seats[model].phase in ("loading", "ready"):
                self._end(at, self.seats[model], why)
            case Gone(_, model):
                self.seats[model].phase = "empty"

    def _ask(self, at: float, request: int, seat: Seat) -> None:
        why = seat.refuses(at)
        if why is not None:
            self._effects.append(RefuseDown(request, why))
        elif len(self._queue) >= self._rules.queue and not self._serves_at_once(at, seat):
            wait = min(LONGEST_RETRY_S, max(1, ceil(self._turn_s)))
            self._effects.append(RefuseFull(request, wait))
        else:
            seat.down = None
            self._queue[request] = seat.waiting[request] = Waiter(request, seat, at)

    def _serves_at_once(self, at: float, seat: Seat) -> bool:
        return seat.free and not seat.waiting and self._last(at, seat, self._claim()) == inf

    def _leave(self, at: float, request: int) -> None:
        if waiter := self._queue.pop(request, None):
            del waiter.seat.waiting[request]
        elif seat := self._served.pop(request, None):
            took_s = at - seat.serving.pop(request)
            self._turn_s += (took_s - self._turn_s) / 8
            seat.idle_since = at

    def _end(self, at: float, seat: Seat, why: str) -> None:
        """Who waits is kept for one restart that comes at once, and otherwise told why."""
        served = seat.phase == "ready"
        seat.end(at, why)
        if served and seat.retry_at <= at:
            return
        for request in tuple(seat.waiting):
            del self._queue[request], seat.waiting[request]
            self._effects.append(RefuseDown(request, why))

    def _unload(self, seat: Seat) -> None:
        """On request, whatever its residency; then it does not come back by itself, either."""
        why = seat.stays
        if why in (None, "not_loaded"):
            seat.wanted = False
        if why:
            self._effects.append(Keep(seat.member.model, why))
        elif seat.phase != "ending":
            self._stop(seat)

    # What follows

    def _serve(self, at: float) -> None:
        """Gives turns in the order of arrival, model by model."""
        if not self._queue:
            return
        claim = self._claim()
        for seat in self.seats.values():
            last = self._last(at, seat, claim)
            while seat.free and (waiter := seat.oldest) and waiter.request < last:
                self._grant(at, waiter)

    def _grant(self, at: float, waiter: Waiter) -> None:
        del self._queue[waiter.request], waiter.seat.waiting[waiter.request]
        waiter.seat.serving[waiter.request] = at
        self._served[waiter.request] = waiter.seat
        self._effects.append(Grant(waiter.request))

    def _claim(self) -> Claim | None:
        """The oldest request whose model cannot be loaded until others go."""
        if not self._queue:
            return None
        blocked = (waiter for waiter in self._queue.values() if waiter.seat.phase == "empty")
        for waiter in blocked:
            if way := self._way(waiter.seat):
                return Claim(waiter, way)
        return None

    def _way(self, seat: Seat) -> tuple[Seat, ...]:
        """Who must go before the model may be loaded."""
        loaded = [model for model, other in self.seats.items() if other.holds]
        return tuple(self.seats[m] for m in in_the_way(seat.member.model, loaded, self._sets))

    def _last(self, at: float, seat: Seat, claim: Claim | None) -> float:
        """Requests from this one on must wait: an older one has waited long enough for the place.

        Infinite when there is no such request; then the model may serve whoever comes.
        """
        if claim is None or seat not in claim.way or at < self._stays_until(seat):
            return inf
        overdue = at >= claim.waiter.since + self._rules.max_wait_s
        return claim.waiter.request if overdue else inf

    def _stays_until(self, seat: Seat) -> float:
        return seat.since + self._rules.min_residency_s

    def _expire(self, at: float) -> None:
        for seat in self.seats.values():
            if at >= seat.expires_at:
                self._stop(seat)

    def _load(self, at: float) -> None:
        """Starts what fits. For the first that does not, others go; those behind it wait for it."""
        claiming = [seat for seat in self.seats.values() if seat.claims(at)]
        for seat in sorted(claiming, key=lambda seat: seat.rank):
            way = self._way(seat)
            if not way:
                self._start(seat)
            elif oldest := seat.oldest:
                claim = Claim(oldest, way)
                for other in way:
                    if self._may_go(at, other, claim):
                        self._stop(other, seat.member.model)
                return

    def _may_go(self, at: float, seat: Seat, claim: Claim) -> bool:
        """Never while it serves, nor before its time, nor while it has requests that go first."""
        if seat.serving or seat.phase == "ending":
            return False
        if seat.phase == "loading":
            return not seat.waiting
        oldest = seat.oldest
        return at >= self._stays_until(seat) and (
            oldest is None or oldest.request >= self._last(at, seat, claim)
        )

    def _start(self, seat: Seat) -> None:
        """Who crashed, and now would have to wait for this one, is not started by itself again."""
        seat.phase, seat.wanted = "loading", True
        self._effects.append(Start(seat.member.model))
        for other in self.seats.values():
            if other.wanted and other.phase == "empty" and self._way(other):
                other.wanted = False

    def _stop(self, seat: Seat, for_model: str | None = None) -> None:
        seat.phase, seat.wanted = "ending", False
        self._effects.append(Stop(seat.member.model, for_model))

    # What the others have to know

    def _inform(self, at: float) -> None:
        """Says to every waiting request where it stands, when that has changed."""
        if not self._queue:
            return
        claim = self._claim()
        closed = [
            seat
            for seat in self.seats.values()
            if not seat.open or self._last(at, seat, claim) < inf
        ]
        ways = {seat: self._way(seat) for seat in closed if seat.phase == "empty"}
        for waiter, now in news(self._queue.values(), closed, ways, claim):
            waiter.told = now
            self._effects.append(Tell(waiter.request, now))

    def _ask_to_be_woken(self, at: float) -> None:
        """The next moment at which time alone changes something."""
        due = min((time for time in self._moments() if time > at), default=inf)
        if due < self._alarm:
            self._alarm = due
            self._effects.append(Wake(due))

    def _moments(self) -> Iterator[float]:
        for seat in self.seats.values():
            yield seat.expires_at
            if seat.phase == "empty" and seat.wanted:
                yield seat.retry_at
        if claim := self._claim():
            yield from (self._stays_until(seat) for seat in claim.way if seat.phase == "ready")
