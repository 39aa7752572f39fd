"""Fetches one file: by ranges, further where a process died, proved before anybody can see it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from meshctl.errors import CheckFailed, MeshctlError, Refused, Unreachable
from meshctl.outside.clock import rfc3339
from meshctl.outside.gcp import NoCredentials
from meshctl.outside.partial import Origin, Partial, free_bytes, held
from meshctl.outside.ranges import Changed, Ranges
from meshctl.outside.retries import Bounds, Patience
from meshctl.payloads.manifest import Manifest, manifest_path
from meshctl.payloads.pieces import Read, pieces
from meshctl.payloads.promise import Promise, differs, git_digest, promise_of
from meshctl.payloads.sniff import pretence
from meshctl.payloads.there import there
from meshctl.payloads.wanted import Fetched, Hands, Wanted
from meshctl.quantities import show_bytes

LOOK = 2**16
"""Bytes read to know size and state of a source, and whether it is a web page."""
TRIES = Bounds(tries=6, first_s=0.3, longest_s=30.0, together_s=150.0)
"""For one piece: about 10 s of waiting, and more where a server asks for it."""


@dataclass(frozen=True)
class Look:
    """What a first short reading of the source showed."""

    origin: Origin
    start: bytes


@dataclass(frozen=True)
class Brought:
    """All bytes are here: their sha256, how many came now, and how many an earlier process left."""

    sha256: str
    sent: int
    resumed: int


def fetch(wanted: Wanted, hands: Hands) -> Fetched:
    """Have the file at its place, whole and proved.

    Raises UsageError when nothing says what its bytes must be, CheckFailed when they are others,
    Refused when there is no room or something else of that name, LockHeld, Unreachable and Missing.
    What was fetched is kept for the next time, unless it is wrong.
    """
    with held(wanted.to, hands.clock, hands.lock_wait_s) as partial:
        known = there(wanted, wanted.sha256, hands) if wanted.sha256 else None
        if known is None:
            hands.tell("asking for", 0, 0)
            seen = look(wanted, hands)
            promise = promise_of(wanted, seen.origin)
            known = there(wanted, promise.sha256, hands)
        if known is None:
            return _fetch(wanted, seen, promise, partial, hands)
        partial.drop()
        return known


def look(wanted: Wanted, hands: Hands) -> Look:
    """Ask for a little. Raises CheckFailed for a web page, or the like, instead of the file."""
    file = wanted.folder.open(wanted.name)
    start = _again(lambda: file.read(0, LOOK), hands.patience)
    wrong = pretence(start, file.size, opaque=True)
    if wrong and wanted.bytes != file.size:
        raise CheckFailed(
            f"{wrong.id}: {wrong.message}", place=wanted.source,
            hint="look at the address in a browser; it must be that of the file itself",
        )  # fmt: skip
    return Look(Origin(wanted.source, file.version, file.size), start)


def _fetch(wanted: Wanted, seen: Look, promise: Promise, partial: Partial, hands: Hands) -> Fetched:
    """What was kept by a process that a power cut ended may be wrong: then once more, whole."""
    if promise.by is None:  # nothing would show that old and new bytes do not belong together
        partial.empty()
    brought = _bring(wanted, seen, partial, hands)
    sent = brought.sent
    if brought.resumed and not _holds(promise, brought, partial):
        partial.empty()
        brought = _bring(wanted, seen, partial, hands)
        sent += brought.sent
    if not _holds(promise, brought, partial):
        found = git_digest(partial) if promise.git else brought.sha256
        partial.empty()
        raise differs(wanted, promise.shown, found)
    _publish(wanted, seen, promise, brought, partial, hands)
    return Fetched(
        source=wanted.source, path=wanted.to, bytes=seen.origin.bytes, sha256=brought.sha256,
        sent=sent + len(seen.start), resumed=brought.resumed, proved_by=promise.by,
    )  # fmt: skip


def _bring(wanted: Wanted, seen: Look, partial: Partial, hands: Hands) -> Brought:
    """Every byte that is missing, each hashed on its way; what is here already is read again."""
    size, digest = seen.origin.bytes, hashlib.sha256()
    resumed = partial.keep(seen.origin)
    done = 0
    for data in partial.kept():
        digest.update(data)
        done += len(data)
        hands.tell("reading what is here of", done, size)
    _make_sure_of_room(wanted, size - done)
    try:
        for data in pieces(lambda: reader(wanted, seen, hands.patience), done, size):
            partial.add(data)
            digest.update(data)
            done += len(data)
            hands.tell("fetching", done, size)
    except Unreachable as error:
        raise _cut_short(error, wanted, done, size) from error
    return Brought(digest.hexdigest(), size - resumed, resumed)


def reader(wanted: Wanted, seen: Look, patience: Patience) -> Read:
    """Reads pieces of exactly the state of the source that was looked at."""
    file = wanted.folder.open(wanted.name)

    def once(start: int, end: int) -> bytes:
        data = file.read(start, end)
        _hold_to(seen.origin, file, wanted)
        if len(data) != end - start:
            raise Unreachable(
                f"asked for {end - start} bytes, got {len(data)}", place=wanted.source
            )
        return data

    return lambda start, end: _again(lambda: once(start, end), patience)


def _hold_to(origin: Origin, file: Ranges, wanted: Wanted) -> None:
    if (file.version, file.size) != (origin.version, origin.bytes):
        raise Changed(
            "it changed while it was fetched", place=wanted.source,
            hint="fetch it again: what is here of the old one is thrown away then",
        )  # fmt: skip


def _again(read: Callable[[], bytes], patience: Patience) -> bytes:
    for again in patience.tries(TRIES):
        try:
            return read()
        except NoCredentials:
            raise
        except Unreachable as error:
            again(error)
    raise AssertionError("unreachable: the last try raises")


def _make_sure_of_room(wanted: Wanted, missing: int) -> None:
    free = free_bytes(wanted.to.parent)
    if missing > free:
        raise Refused(
            f"{wanted.to.name} needs {show_bytes(missing)} more, and the disk has "
            f"{show_bytes(free)} free",
            place=str(wanted.to.parent),
            hint="free some space there, or name another folder with --to",
        )


def _cut_short(error: MeshctlError, wanted: Wanted, done: int, size: int) -> Unreachable:
    if not done:
        return Unreachable(error.message, place=wanted.source, hint=error.hint)
    return Unreachable(
        f"{error.message}; {show_bytes(done)} of {show_bytes(size)} are here",
        place=wanted.source,
        hint="run the same command again: it goes on from there",
    )


def _holds(promise: Promise, brought: Brought, partial: Partial) -> bool:
    """Whether the bytes are those that were promised; where nobody promised any, they are."""
    if promise.git:
        return git_digest(partial) == promise.git
    return promise.sha256 in (None, brought.sha256)


def _publish(
    wanted: Wanted, seen: Look, promise: Promise, brought: Brought, partial: Partial, hands: Hands
) -> None:
    def describe(mtime_ns: int) -> bytes:
        manifest = Manifest(
            source=wanted.source,
            version=seen.origin.version,
            bytes=seen.origin.bytes,
            sha256=brought.sha256,
            proved_by=promise.by,
            mtime_ns=mtime_ns,
            at=rfc3339(hands.clock.now()),
        )
        return manifest.text().encode()

    partial.publish(manifest_path(wanted.to), describe)
