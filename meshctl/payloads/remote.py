"""Proves, without keeping it, that what is to be fetched is the declared file."""

from __future__ import annotations

import hashlib
from typing import Any

from meshctl.errors import CheckFailed, Refused
from meshctl.outside.objects import ObjectStore
from meshctl.outside.ranges import Missing
from meshctl.payloads.fetch import Look, look, reader
from meshctl.payloads.object import differs, recall, remember
from meshctl.payloads.pieces import pieces
from meshctl.payloads.wanted import Hands, Wanted


def prove_source(wanted: Wanted, hands: Hands, proofs: ObjectStore) -> dict[str, Any]:
    """What was proved, as evidence. The hub names the sha256 of a file; any other is read whole,
    once for each state that its ETag tells. Raises Refused when it is not the declared file."""
    source, size, sha256 = wanted.source, wanted.bytes, wanted.sha256
    assert size is not None and sha256, "the fleet file declares both"
    seen = _look(wanted, hands)
    if seen.origin.bytes != size:
        raise differs(source, f"{size} bytes", f"{seen.origin.bytes} bytes")
    version = seen.origin.version
    if wanted.hub and len(version) == 64:
        digest, how = version, "named by the hub"
    elif version and (known := recall(proofs, source, version)):
        digest, how = known, "read whole before"
    else:
        digest, how = _read(wanted, seen, hands), "read whole"
        if version:
            remember(proofs, source, version, digest)
    if digest != sha256:
        raise differs(source, f"sha256 {sha256}", digest)
    return {"bytes": size, "sha256": sha256, "proved": f"{how}: {source}"}


def _look(wanted: Wanted, hands: Hands) -> Look:
    try:
        return look(wanted, hands)
    except Missing as missing:
        raise Refused(
            f"{wanted.source} does not exist: {missing.message}",
            place=wanted.source,
            hint="publish the file there, or correct the payload's source",
        ) from missing
    except CheckFailed as wrong:
        raise Refused(wrong.message, place=wrong.place, hint=wrong.hint) from wrong


def _read(wanted: Wanted, seen: Look, hands: Hands) -> str:
    size, done, digest = seen.origin.bytes, 0, hashlib.sha256()
    for data in pieces(lambda: reader(wanted, seen, hands.patience), 0, size):
        digest.update(data)
        done += len(data)
        hands.tell(wanted.source, done, size)
    return digest.hexdigest()
