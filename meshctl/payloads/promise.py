"""What the bytes of a source must be, and who says so."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from meshctl.errors import CheckFailed, UsageError
from meshctl.outside.partial import Origin, Partial
from meshctl.payloads.wanted import Wanted

DECLARED = "the declared sha256"
LFS = "the sha256 that the hub names"
GIT = "the git digest that the hub names"


@dataclass(frozen=True)
class Promise:
    """One of the two digests, or none; `by` is None where nobody says anything."""

    sha256: str | None = None
    git: str | None = None
    by: str | None = None

    @property
    def shown(self) -> str:
        """As people compare it."""
        return f"git digest {self.git}" if self.git else f"sha256 {self.sha256}"


def promise_of(wanted: Wanted, origin: Origin) -> Promise:
    """What was declared, else what the hub names. Raises CheckFailed where the two differ, and
    UsageError where there is neither."""
    if wanted.bytes not in (None, origin.bytes):
        raise differs(wanted, f"{wanted.bytes:,} bytes", f"{origin.bytes:,} bytes")
    named = origin.version if wanted.hub else ""
    if len(named) == 64 and wanted.sha256 not in (None, named):
        raise differs(wanted, f"sha256 {wanted.sha256}", f"the hub names {named}")
    if wanted.sha256:
        return Promise(sha256=wanted.sha256, by=DECLARED)
    if len(named) == 64:
        return Promise(sha256=named, by=LFS)
    if len(named) == 40:
        return Promise(git=named, by=GIT)
    if wanted.unproved:
        return Promise()
    raise UsageError(
        "nothing says what its bytes must be",
        place=wanted.source,
        hint="give --sha256 HEX; or --unproved takes what comes, and says its sha256",
    )


def git_digest(partial: Partial) -> str:
    """By which git knows a file: sha1 over its length and its bytes."""
    digest = hashlib.sha1(b"blob %d\0" % partial.length, usedforsecurity=False)
    for data in partial.kept():
        digest.update(data)
    return digest.hexdigest()


def differs(wanted: Wanted, expected: str, found: str) -> CheckFailed:
    """The source is not what was promised; nothing was published."""
    return CheckFailed(
        f"{wanted.name}: expected {expected}, found {found}",
        place=wanted.source,
        hint="nothing was put in place; correct the declared size and digest, or the source",
    )
