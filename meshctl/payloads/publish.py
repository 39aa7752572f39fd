"""Publishes one file: in equal parts, further where a process died, and read back before it counts.

Nothing is ever written over. The object appears at once and whole, when its last part is there and
the bytes that were sent have the digest that they should; then every byte is read back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from meshctl.errors import CheckFailed, Refused, Unreachable
from meshctl.outside.gcp import NoCredentials
from meshctl.outside.multipart import Kept, Part
from meshctl.outside.partial import held
from meshctl.payloads.ahead import ahead
from meshctl.payloads.fetch import TRIES, look, reader
from meshctl.payloads.outgoing import Note, Outgoing, Published, forget, note_down, noted
from meshctl.payloads.pieces import pieces
from meshctl.payloads.sniff import pretence
from meshctl.payloads.wanted import Hands, Wanted

T = TypeVar("T")
LOOK = 2**16
AT_ONCE = 4
"""Parts under way, each held whole in memory: 8 MiB, or 57 MiB where a file has 500 GB."""


@dataclass(frozen=True)
class Piece:
    """A part as it is on the disk."""

    number: int
    data: bytes


def publish(outgoing: Outgoing, hands: Hands) -> Published:
    """Have the file in the bucket, whole and proved, while nobody else fetches or publishes it.

    Raises LockHeld, Refused when something else has that name, CheckFailed when the file is no
    model or changed, or when what is read back is not it, Unreachable when the store does not
    answer: what was sent is kept for the next time.
    """
    with held(outgoing.path, hands.clock, hands.lock_wait_s):
        return _publish(outgoing, hands)


def _publish(outgoing: Outgoing, hands: Hands) -> Published:
    _look_at(outgoing)
    found = _again(lambda: outgoing.bucket.kept(outgoing.key), hands)
    if found is not None:
        forget(outgoing)
        return _there(outgoing, found, hands)
    note, before = _begun(outgoing, hands)
    parts = _send(outgoing, note, before, hands)
    found = _finish(outgoing, note, parts, hands)
    forget(outgoing)
    resumed = sum(part.bytes for part in before.values())
    version = _prove(outgoing, found, hands)
    return Published(
        path=outgoing.path, to=outgoing.to, bytes=outgoing.bytes, sha256=outgoing.sha256,
        version=version, sent=outgoing.bytes - resumed, resumed=resumed,
    )  # fmt: skip


def _look_at(outgoing: Outgoing) -> None:
    """What was saved in place of weights is not handed on."""
    with outgoing.path.open("rb") as file:
        wrong = pretence(file.read(LOOK), outgoing.bytes, opaque=True)
    if wrong:
        raise CheckFailed(
            f"{wrong.id}: {wrong.message}", place=str(outgoing.path), hint="fetch the file itself"
        )


def _there(outgoing: Outgoing, found: Kept, hands: Hands) -> Published:
    """Somebody published it before: it is read, too, for metadata says what anybody wants."""
    if found.bytes != outgoing.bytes:
        raise _taken(outgoing, f"it has {found.bytes:,} bytes, not {outgoing.bytes:,}")
    if found.sha256 not in ("", outgoing.sha256):
        raise _taken(outgoing, f"its sha256 is {found.sha256}, not {outgoing.sha256}")
    version = _prove(outgoing, found, hands)
    return Published(
        path=outgoing.path, to=outgoing.to, bytes=outgoing.bytes, sha256=outgoing.sha256,
        version=version, there=True,
    )  # fmt: skip


def _begun(outgoing: Outgoing, hands: Hands) -> tuple[Note, dict[int, Part]]:
    """The upload to go on with, and its parts that are there and of the right size."""
    bucket, note = outgoing.bucket, noted(outgoing)
    if note is not None:
        upload = note.upload
        parts = _again(lambda: bucket.parts(outgoing.key, upload), hands)
        if parts is not None:
            sizes = {number: end - start for number, start, end in _cut(outgoing, note)}
            return note, {n: p for n, p in parts.items() if sizes.get(n) == p.bytes}
    begun = _again(lambda: bucket.begin(outgoing.key, outgoing.sha256), hands)
    return note_down(outgoing, begun), {}


def _send(outgoing: Outgoing, note: Note, before: dict[int, Part], hands: Hands) -> dict[int, Part]:
    """Every part that is missing; the file is read from its first byte to its last, and hashed."""
    digest, parts, done = hashlib.sha256(), dict(before), 0

    def send(piece: Piece) -> Part:
        if piece.number in before:
            return before[piece.number]
        bucket, upload = outgoing.bucket, note.upload
        return _again(lambda: bucket.send(outgoing.key, upload, piece.number, piece.data), hands)

    try:
        for piece, part in ahead(lambda: send, _read(outgoing, note, digest.update), AT_ONCE):
            parts[piece.number] = part
            done += len(piece.data)
            hands.tell("publishing", done, outgoing.bytes)
    except Unreachable as error:
        hint = "run the same command again: it goes on from there"
        raise Unreachable(error.message, place=outgoing.to, hint=hint) from error
    _hold_to(outgoing, note, digest.hexdigest(), hands)
    return parts


def _cut(outgoing: Outgoing, note: Note) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of each part; numbers begin with 1."""
    for number, start in enumerate(range(0, outgoing.bytes, note.part_bytes), 1):
        yield number, start, min(start + note.part_bytes, outgoing.bytes)


def _read(outgoing: Outgoing, note: Note, tell: Callable[[bytes], object]) -> Iterator[Piece]:
    with outgoing.path.open("rb") as file:
        for number, start, end in _cut(outgoing, note):
            data = file.read(end - start)
            if len(data) != end - start:
                raise _changed(outgoing)
            tell(data)
            yield Piece(number, data)


def _hold_to(outgoing: Outgoing, note: Note, found: str, hands: Hands) -> None:
    """Before the parts become an object: what was sent must be what was promised."""
    if found == outgoing.sha256:
        return
    _again(lambda: outgoing.bucket.give_up(outgoing.key, note.upload), hands)
    forget(outgoing)
    raise _changed(outgoing)


def _finish(outgoing: Outgoing, note: Note, parts: dict[int, Part], hands: Hands) -> Kept:
    """The object. An answer that was lost, or a publisher beside us: what is there now decides."""
    bucket, key = outgoing.bucket, outgoing.key

    def once() -> Kept:
        made = bucket.finish(key, note.upload, parts)
        found = bucket.kept(key)
        if found is None:
            message = "the upload is over, and there is no object"
            raise Unreachable(message, place=outgoing.to, hint="run the same command again")
        if not made and (found.bytes, found.sha256) != (outgoing.bytes, outgoing.sha256):
            bucket.give_up(key, note.upload)
            raise _taken(outgoing, "somebody has put it there meanwhile")
        return found

    return _again(once, hands)


def _prove(outgoing: Outgoing, found: Kept, hands: Hands) -> str:
    """Read every byte back; the state of the object that was read."""
    file = Wanted(outgoing.folder, outgoing.key.rpartition("/")[2], outgoing.path)
    seen = look(file, hands)
    size, done, digest = seen.origin.bytes, 0, hashlib.sha256()
    if size == outgoing.bytes and seen.origin.version == found.version:
        for data in pieces(lambda: reader(file, seen, hands.patience), 0, size):
            digest.update(data)
            done += len(data)
            hands.tell("reading back", done, size)
    if digest.hexdigest() != outgoing.sha256:
        raise CheckFailed(
            f"what is there now is not {outgoing.path.name}: expected sha256 {outgoing.sha256}, "
            f"found {digest.hexdigest() if done else f'{size:,} bytes of another object'}",
            place=outgoing.to,
            hint="let nobody use it; delete it, and publish under a new name",
        )
    return seen.origin.version


def _again(call: Callable[[], T], hands: Hands) -> T:
    for again in hands.patience.tries(TRIES):
        try:
            return call()
        except NoCredentials:
            raise
        except Unreachable as error:
            again(error)
    raise AssertionError("unreachable: the last try raises")


def _taken(outgoing: Outgoing, why: str) -> Refused:
    return Refused(
        f"there is another object of that name: {why}", place=outgoing.to,
        hint="publish under a new name: nothing is written over, for somebody may serve it",
    )  # fmt: skip


def _changed(outgoing: Outgoing) -> CheckFailed:
    return CheckFailed(
        f"it is not what it should be: expected sha256 {outgoing.sha256}",
        place=str(outgoing.path),
        hint=f"prove it first: `meshctl payload verify {outgoing.path}`",
    )
