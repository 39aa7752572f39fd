"""Proves that an object of a bucket is the declared file: its size, then every byte, once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Protocol

from meshctl.errors import Refused
from meshctl.outside.objects import ObjectStore
from meshctl.outside.upload import Uploaded
from meshctl.quantities import show_bytes

PART_BYTES = 32 * 2**20
"""One range request: large enough for the line's full speed, small enough to stop between two."""

Tell = Callable[[str, int, int], None]
"""Told the object, the bytes read so far and the bytes of the whole; may raise to stop."""


class Bucket(Protocol):
    """What a proof asks of an object store."""

    def find(self, bucket: str, name: str) -> Uploaded | None: ...
    def part(self, found: Uploaded, start: int, end: int) -> bytes: ...


def prove_object(
    url: str, size: int, sha256: str, bucket: Bucket, proofs: ObjectStore, tell: Tell
) -> dict[str, Any]:
    """What was proved, as evidence. One generation of an object never changes, so its sha256 is
    read once and remembered. Raises Refused when the object is not the declared file."""
    place, _, name = url.removeprefix("gs://").partition("/")
    found = bucket.find(place, name)
    if found is None:
        raise Refused(
            f"{url} does not exist", place=url,
            hint=f"put the file there: `gcloud storage cp --if-generation-match=0 FILE {url}`",
        )  # fmt: skip
    if found.bytes != size:
        raise differs(url, f"{size} bytes ({show_bytes(size)})", f"{found.bytes} bytes")
    known = recall(proofs, url, found.generation)
    digest = known or _read(url, found, bucket, tell)
    if not known:
        remember(proofs, url, found.generation, digest)
    if digest != sha256:
        raise differs(url, f"sha256 {sha256}", digest)
    how = "read whole before" if known else "read whole"
    return {"bytes": size, "sha256": digest,
            "proved": f"{how}: {url}, generation {found.generation}"}  # fmt: skip


def _read(url: str, found: Uploaded, bucket: Bucket, tell: Tell) -> str:
    digest = hashlib.sha256()
    for start in range(0, found.bytes, PART_BYTES):
        end = min(start + PART_BYTES, found.bytes)
        digest.update(bucket.part(found, start, end))
        tell(url, end, found.bytes)
    return digest.hexdigest()


def remember(proofs: ObjectStore, url: str, version: str, sha256: str) -> None:
    """What this state of an object hashed to, once and for all."""
    proofs.create(_key(url, version), json.dumps({"object": url, "sha256": sha256}).encode())


def recall(proofs: ObjectStore, url: str, version: str) -> str | None:
    """The sha256 of this state of an object; None where nobody has read it."""
    stored = proofs.read(_key(url, version))
    if stored is None:
        return None
    try:
        said = json.loads(stored.data)
        return str(said["sha256"]) if said["object"] == url else None
    except (ValueError, TypeError, KeyError):
        return None  # damaged: reading the object again costs only time


def _key(url: str, version: str) -> str:
    name = hashlib.sha256(f"{url}#{version}".encode()).hexdigest()[:32]
    return f"proofs/{name}.json"


def differs(url: str, expected: str, found: str) -> Refused:
    """The object is not the declared file; nothing was placed."""
    return Refused(
        f"{url}: expected {expected}, found {found}", place=url,
        hint="publish the right file under a new name, or correct the payload's size and digest",
    )  # fmt: skip
