"""Says where the requests in the queue of a lane stand. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from meshctl.mesh.seat import Seat, Waiter
from meshctl.mesh.waiting import Waiting


@dataclass(frozen=True)
class Claim:
    """The oldest request that needs the place of others, and who they are."""

    waiter: Waiter
    way: tuple[Seat, ...]


def news(
    queue: Collection[Waiter],
    closed: Collection[Seat],
    ways: Mapping[Seat, tuple[Seat, ...]],
    claim: Claim | None,
) -> Iterator[tuple[Waiter, Waiting]]:
    """Each request of the queue that stands elsewhere than it was told, oldest first.

    A `closed` model has to wait for requests of others, too: for older ones of closed models, and
    for those that are served by whoever is in its way. A full queue moves at every end of a turn,
    so little is done for each request.
    """
    facts = {seat: _facts(seat, ways.get(seat, ()), claim) for seat in {w.seat for w in queue}}
    older = dict.fromkeys(facts, 0)
    older_closed = 0
    for waiter in queue:
        seat = waiter.seat
        phase, own, others = facts[seat]
        ahead = max(0, own + older[seat]) + others
        if seat in closed:
            ahead += older_closed - older[seat]
            older_closed += 1
        older[seat] += 1
        told = waiter.told
        if told is None or told.ahead != ahead or told.phase != phase:
            yield waiter, Waiting(phase, ahead)


def _facts(
    seat: Seat, way: tuple[Seat, ...], claim: Claim | None
) -> tuple[Literal["queued", "loading"], int, int]:
    """The phase of its first request, and how many must end before it: here (less than one when
    turns are free), and where others are in the way."""
    comes_next = claim is not None and claim.waiter.seat is seat
    freed = comes_next and all(other.phase == "ending" for other in way)
    loads = seat.open and seat.phase != "ready"
    own = len(seat.serving) + 1 - seat.member.parallel
    return "loading" if loads or freed else "queued", own, sum(len(o.serving) for o in way)
