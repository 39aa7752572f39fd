"""Runs that ended, summed up in one object, so that a ledger of thousands is read in one go.

The journal stays the truth. A sum counts only while the run has as many events as it had, and while
this meshctl sums up the same fields; the whole shelf may be removed at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pydantic import ValidationError

from meshctl.errors import MeshctlError
from meshctl.outside.objects import ObjectStore
from meshctl.spec.model import Frozen
from meshctl.state.ledger import Ledger, Run
from meshctl.state.site import Site

FEW = 32
"""Runs that are read one by one: below this a shelf costs more than it saves."""
ENDED = ("closed", "fenced")


class Shelf(Frozen):
    """The sums by run, and the fields that they are made of."""

    fields: tuple[str, ...]
    runs: dict[str, Run]


def read_shelf(
    store: ObjectStore, service: str, site: Site, counts: Mapping[str, int]
) -> dict[str, Run]:
    """The sums that still hold for runs with so many events; none where there are few runs."""
    if len(counts) <= FEW:
        return {}
    stored = store.read(_key(service, site))
    runs = _parsed(stored.data) if stored else {}
    return {name: run for name, run in runs.items() if run.events == counts.get(name)}


def shelve(store: ObjectStore, service: str, site: Site, ledger: Ledger) -> None:
    """Write the shelf anew when many runs have ended since. It is no loss when it cannot be."""
    if len(ledger.runs) <= FEW:
        return
    with contextlib.suppress(MeshctlError):
        stored = store.read(_key(service, site))
        before = _parsed(stored.data) if stored else {}
        ended = {run.run: run for run in ledger.runs if run.state in ENDED}
        if len(ended.keys() - before.keys()) <= FEW:
            return
        data = Shelf(fields=_FIELDS, runs=ended).model_dump_json().encode()
        if stored:
            store.replace(_key(service, site), data, stored.generation)
        else:
            store.create(_key(service, site), data)


_FIELDS = tuple(Run.model_fields)


def _key(service: str, site: Site) -> str:
    return f"shelves/{site}/{service}.json"


def _parsed(data: bytes) -> dict[str, Run]:
    try:
        shelf = Shelf.model_validate_json(data)
    except ValidationError:
        return {}
    return shelf.runs if shelf.fields == _FIELDS else {}
