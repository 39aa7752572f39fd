"""Which peer is asked, in which order: who failed lately is left alone for a while. Pure.

Nobody is ever asked how he is, for asking would wake him. All that is known of a peer is how it
answered clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from meshctl.spec.federation import ANY, PeerEntry

LONGEST_PAUSE_S = 60.0


@dataclass
class _Known:
    failures: int = 0
    well_at: float = 0.0
    """When the pause after its last failure is over."""
    busy: int = 0
    asked: int = 0
    """The number of its last request, in the order of all."""


class Peers:
    """The peers of one mesh; times are seconds on one clock that never goes back."""

    def __init__(self, declared: Sequence[PeerEntry]) -> None:
        self._declared = tuple(declared)
        self._known = {peer.id: _Known() for peer in declared}
        self._requests = 0

    def owners(self, model: str) -> tuple[PeerEntry, ...]:
        """Who takes the model, whether well or not."""
        return tuple(p for p in self._declared if model in p.models or ANY in p.models)

    def order(self, model: str, now: float) -> tuple[PeerEntry, ...]:
        """Whom to ask for the model, one after the other.

        The lowest priority first, then the highest weight, then who names the model before who
        takes any; equals take turns, the least busy first. Those in a pause come last: a client's
        request is the only way to learn that they are well again, when nobody else is left.
        """
        return tuple(sorted(self.owners(model), key=lambda peer: self._rank(peer, model, now)))

    def _rank(self, peer: PeerEntry, model: str, now: float) -> tuple[float | str, ...]:
        known = self._known[peer.id]
        pause = max(0.0, known.well_at - now)
        declared = (peer.priority, -peer.weight, model not in peer.models)
        return (pause > 0, *declared, known.busy, known.asked, peer.id)

    def well(self, peer: PeerEntry, now: float) -> bool:
        """It is in no pause."""
        return self._known[peer.id].well_at <= now

    def up(self, now: float) -> dict[str, bool]:
        """Every peer, and whether it is in no pause."""
        return {peer.id: self.well(peer, now) for peer in self._declared}

    @contextmanager
    def asking(self, peer: PeerEntry) -> Iterator[None]:
        """Around one request to it."""
        known = self._known[peer.id]
        self._requests += 1
        known.asked = self._requests
        known.busy += 1
        try:
            yield
        finally:
            known.busy -= 1

    def began(self, peer: PeerEntry) -> None:
        """It answers: it is asked like any other. Only a whole answer makes its failures forgotten,
        else who breaks off every time would be asked every second."""
        self._known[peer.id].well_at = 0.0

    def answered(self, peer: PeerEntry) -> None:
        """It gave a whole answer, and is well."""
        self._known[peer.id].failures = 0
        self._known[peer.id].well_at = 0.0

    def failed(self, peer: PeerEntry, now: float) -> None:
        """It gave no whole answer: left alone for 1, 2, 4 ... up to 60 s, if there are others."""
        known = self._known[peer.id]
        known.failures += 1
        known.well_at = now + min(LONGEST_PAUSE_S, 2.0 ** min(known.failures - 1, 10))
