"""Says whether a file that is wanted is at its place already; never touches another one's."""

from __future__ import annotations

import hashlib

from meshctl.errors import Refused
from meshctl.outside.clock import rfc3339
from meshctl.outside.folder import Entry, entry, opened
from meshctl.outside.partial import write_whole
from meshctl.payloads.manifest import Manifest, manifest_path, read_manifest
from meshctl.payloads.promise import DECLARED
from meshctl.payloads.wanted import Fetched, Hands, Wanted

PIECE = 2**20


def there(wanted: Wanted, sha256: str | None, hands: Hands) -> Fetched | None:
    """The file as it is there; None when there is none of that name.

    Its manifest is believed while size and time of change are as it says; without one every byte is
    read. Raises Refused for another file of that name.
    """
    if not wanted.to.exists() and not wanted.to.is_symlink():
        return None
    listed = entry(wanted.to.name, wanted.to)
    if wanted.bytes not in (None, listed.bytes):
        raise _in_the_way(wanted, f"it has {listed.bytes:,} bytes, not {wanted.bytes:,}")
    known = read_manifest(wanted.to) or _read(wanted, sha256, listed, hands)
    if sha256 not in (None, known.sha256):
        raise _in_the_way(wanted, f"its sha256 is {known.sha256}, not {sha256}")
    if sha256 is None and known.source != wanted.source:
        raise _in_the_way(wanted, "nothing shows that it is the same")
    return Fetched(
        source=wanted.source, path=wanted.to, bytes=known.bytes, sha256=known.sha256,
        sent=0, resumed=0, proved_by=known.proved_by, there=True,
    )  # fmt: skip


def _read(wanted: Wanted, sha256: str | None, listed: Entry, hands: Hands) -> Manifest:
    """The manifest of a file that has none; it is written down where the file is the right one."""
    found = Manifest(
        source=wanted.source if sha256 else "",
        version="",
        bytes=listed.bytes,
        sha256=_sha256(listed, hands),
        proved_by=DECLARED,
        mtime_ns=listed.mtime_ns,
        at=rfc3339(hands.clock.now()),
    )
    if found.sha256 == sha256:
        write_whole(manifest_path(wanted.to), found.text().encode())
    return found


def _sha256(listed: Entry, hands: Hands) -> str:
    digest, done = hashlib.sha256(), 0
    with opened(listed) as file:
        while data := file.read(PIECE):
            digest.update(data)
            done += len(data)
            hands.tell("reading", done, listed.bytes)
    return digest.hexdigest()


def _in_the_way(wanted: Wanted, why: str) -> Refused:
    return Refused(
        f"there is another file of that name: {why}",
        place=str(wanted.to),
        hint=f"move it away: `mv {wanted.to} {wanted.to}.old`; or name another folder with --to",
    )
