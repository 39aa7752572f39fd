"""Which peers a coordinator announces, as its journals remember. Pure.

A run that changes the announcement carries the whole text of it, and it counts from the moment the
run was closed as done; `adopt` records what it found live. The text is kept as it was written, in
either form, so that nothing is rolled out only because meshctl would have spelled it otherwise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from meshctl.errors import SpecError
from meshctl.spec.federation import PeerEntry, parse_peers
from meshctl.state.ledger import Ledger


@dataclass(frozen=True)
class Announced:
    """What MESH_FEDERATION_PEERS shall hold. `run` is None where no run ever said anything;
    `entries` is None where the text cannot be read, and `why` says why not."""

    text: str = ""
    entries: tuple[PeerEntry, ...] | None = ()
    run: str | None = None
    why: str = ""

    def entry(self, id: str) -> PeerEntry | None:
        """The entry of one peer, when it is announced."""
        return next((entry for entry in self.entries or () if entry.id == id), None)


def announced(ledger: Ledger) -> Announced:
    """The announcement of a coordinator, from its own ledger."""
    for run in reversed(ledger.runs):
        if run.state == "closed" and run.peers is not None:
            return read_announced(_text(run.peers), run.run)
    return Announced()


def ever_announced(ledger: Ledger) -> frozenset[str]:
    """Everybody whom the coordinator announced at some time, as far as it can be read."""
    texts = (_text(run.peers) for run in ledger.runs if run.peers is not None)
    return frozenset(entry.id for text in texts for entry in read_announced(text).entries or ())


def read_announced(text: str, run: str | None = None) -> Announced:
    """A text in either form, from a journal or from a live coordinator; it may be anybody's."""
    try:
        return Announced(text, parse_peers(text), run)
    except (SpecError, RecursionError) as error:
        return Announced(text, None, run, str(error))


def _text(recorded: Any) -> str:
    """The text itself, or a list of entries as somebody else may have recorded them."""
    return recorded if isinstance(recorded, str) else json.dumps(recorded)
