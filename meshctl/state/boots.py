"""Remembers measured boots: for each payload the newest few of every shape, in one object.

`boots/PAYLOAD.json`, PAYLOAD being the digest of its digests: what a plan wants to know of a
payload is one read. Writes are conditional, so that two people who record at once lose nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from pydantic import ValidationError

from meshctl.errors import MeshctlError
from meshctl.outside.objects import ObjectStore, Stored
from meshctl.spec.model import Frozen, Payload
from meshctl.state.boot import BootRecord

OF_ONE_SHAPE = 3
"""Boots kept of the same payload, engine, flags and device: one may have been odd."""
OF_ONE_PAYLOAD = 48
TRIES = 8


class Boots(Frozen):
    """The object of one payload, the newest first."""

    records: tuple[BootRecord, ...]


def payload_id(payload: Payload) -> str:
    """The same bytes have the same boots, whatever a fleet calls them or its files."""
    digests = sorted(file.sha256 for file in payload.files.values())
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def boots_of(store: ObjectStore, payload: str) -> tuple[BootRecord, ...]:
    """Every boot that is remembered of a payload, the newest first. Raises MeshctlError where they
    cannot be read."""
    stored = store.read(_key(payload))
    return _parse(stored, payload) if stored else ()


def remember(store: ObjectStore, record: BootRecord) -> None:
    """Add one boot. Raises MeshctlError where what is there cannot be read, or always changes."""
    key = _key(record.payload)
    for _ in range(TRIES):
        stored = store.read(key)
        before = _parse(stored, record.payload) if stored else ()
        data = Boots(records=_newest((record, *before))).model_dump_json().encode()
        if stored is None and store.create(key, data) is not None:
            return
        if stored is not None and store.replace(key, data, stored.generation) is not None:
            return
    raise MeshctlError("the boot was not recorded: others write there all the time", place=key,
                       hint="try again")  # fmt: skip


def _newest(records: Iterable[BootRecord]) -> tuple[BootRecord, ...]:
    """Each once, a few of every shape, and not too many in all."""
    seen: Counter[tuple[object, ...]] = Counter()
    kept: list[BootRecord] = []
    for one in sorted(records, key=lambda each: each.at, reverse=True):
        if one not in kept and seen[one.key] < OF_ONE_SHAPE:
            seen[one.key] += 1
            kept.append(one)
    return tuple(kept[:OF_ONE_PAYLOAD])


def _key(payload: str) -> str:
    return f"boots/{payload}.json"


def _parse(stored: Stored, payload: str) -> tuple[BootRecord, ...]:
    try:
        found = Boots.model_validate_json(stored.data).records
    except ValidationError as error:
        raise MeshctlError(
            "the measured boots of a payload cannot be read",
            place=_key(payload),
            hint="it was changed from outside, or a newer meshctl wrote it; remove it to measure "
            "again",
        ) from error
    return tuple(one for one in found if one.payload == payload)
