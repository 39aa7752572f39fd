"""What a fetch is asked for, works with, and brings back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from meshctl.outside.clock import Clock
from meshctl.outside.ranges import Folder
from meshctl.outside.retries import Patience

Tell = Callable[[str, int, int], None]
"""Told what is done to the file, how many bytes of it are here, and of how many; 0 is unknown."""


def silent(what: str, done: int, total: int) -> None:
    """The ear of who does not want to know."""


@dataclass(frozen=True)
class Wanted:
    """One file: where it is, where it goes, and what is known of it beforehand."""

    folder: Folder
    name: str
    to: Path
    bytes: int | None = None
    sha256: str | None = None
    hub: bool = False
    """The source names the digest of its bytes itself."""
    unproved: bool = False
    """Take what comes where nothing says what it must be."""

    @property
    def source(self) -> str:
        """As people write it, without what may be secret."""
        return self.folder.shown + self.name


@dataclass(frozen=True)
class Fetched:
    """A file that is at its place. `sent` bytes came over the wire; `resumed` were left by an
    earlier process. `there`: it was there before, and nothing was asked but what was needed."""

    source: str
    path: Path
    bytes: int
    sha256: str
    sent: int
    resumed: int
    proved_by: str | None
    there: bool = False


@dataclass(frozen=True)
class Hands:
    """What fetching works with; `tell` may raise to stop it."""

    clock: Clock
    patience: Patience
    tell: Tell = silent
    lock_wait_s: float = 0.0
