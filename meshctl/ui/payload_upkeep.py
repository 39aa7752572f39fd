"""The JSON documents about payloads on a disk: proved, listed, retired, restored, purged. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document, Overall


class ProvedEntry(Frozen):
    """One file that was read whole; null is unknown, or not read."""

    path: str
    payload: str | None = Field(description="of the fleet file; null: it has a manifest only")
    verdict: Overall
    bytes: int | None
    sha256: str | None = Field(description="what was found; null: it was not read")
    expected_bytes: int | None
    expected_sha256: str | None
    by: str = Field(description="who says what it must be")
    repaired: bool
    why: str


class SetEntry(Frozen):
    """One model in several files, judged by the headers of all of them."""

    path: str
    verdict: Overall
    problems: tuple[str, ...]


class PayloadVerify(Document):
    """Whether files are what was declared; pass only when every one of them is."""

    kind: Literal["payload-verify/v1"] = "payload-verify/v1"
    verdict: Overall
    files: tuple[ProvedEntry, ...]
    sets: tuple[SetEntry, ...]


class ReferenceEntry(Frozen):
    """Who refers to a file: it must stay."""

    path: str
    where: str
    said: str


class UnsearchedEntry(Frozen):
    """Who may refer to a file, and could not be searched."""

    where: str
    why: str


class RetiredEntry(Frozen):
    """One file that goes into the trash, or is there."""

    item: str | None = Field(description="its name for restore and purge; null: not moved")
    path: str
    bytes: int = Field(description="what it takes on the disk")
    sha256: str | None = Field(description="null: it has no manifest")
    status: Literal["found", "moved", "there"]
    restore: str | None = Field(description="what brings it back, for a shell")


class PayloadRetire(Document):
    """Whether files may go into the trash, and which went; the exit code says which."""

    kind: Literal["payload-retire/v1"] = "payload-retire/v1"
    verdict: Literal["free", "retired", "referenced", "unclear"]
    exit_code: int
    at: str
    trash: str | None = Field(description="the folder of this retirement; null: nothing was moved")
    items: tuple[RetiredEntry, ...]
    stays: tuple[str, ...] = Field(description="files beside them that stay where they are")
    warning: str
    references: tuple[ReferenceEntry, ...]
    unsearched: tuple[UnsearchedEntry, ...]
    notes: tuple[str, ...]
    hint: str


class RestoredEntry(Frozen):
    """One file that is at its place again."""

    item: str
    path: str
    status: Literal["restored", "there"]


class PayloadRestore(Document):
    """Files that came back from the trash."""

    kind: Literal["payload-restore/v1"] = "payload-restore/v1"
    at: str
    items: tuple[RestoredEntry, ...]


class PurgeEntry(Frozen):
    """One file of the trash."""

    item: str
    bytes: int = Field(description="what it takes on the disk")
    retired: str
    verdict: Literal["due", "kept"]
    status: Literal["found", "removed"]
    why: str


class PayloadPurge(Document):
    """What of the trash may be deleted for good, and what was."""

    kind: Literal["payload-purge/v1"] = "payload-purge/v1"
    at: str
    grace_s: float
    items: tuple[PurgeEntry, ...]
    freed: int = Field(description="bytes of the disk that were given back")
    notes: tuple[str, ...]


class ListedEntry(Frozen):
    """One payload of the fleet file."""

    name: str
    bytes: int = Field(description="as declared")
    files: int
    there: int = Field(description="files of the right size that are there")
    place: str
    used_by: tuple[str, ...]


class SpaceEntry(Frozen):
    """What lies together and is of one kind."""

    path: str
    what: Literal["payload", "unreferenced", "partial", "trash", "cache", "other"]
    files: int
    bytes: int = Field(description="real blocks, a file with several names once")
    apparent: int = Field(description="what the files say they are; a sparse one takes less")
    reclaimable: bool | None = Field(description="null: unknown, see `why`")
    why: str


class Disk(Frozen):
    """What is on the disk, and what of it could go."""

    size: int
    free: int
    entries: tuple[SpaceEntry, ...]
    reclaimable: int = Field(description="bytes that surely could go")
    unknown: int = Field(description="bytes of which that is not known")
    unreadable: tuple[str, ...]
    unsearched: tuple[UnsearchedEntry, ...]
    notes: tuple[str, ...]


class PayloadList(Document):
    """The payloads of the fleet file, and with --disk what lies on the disk."""

    kind: Literal["payload-list/v1"] = "payload-list/v1"
    at: str
    payloads: tuple[ListedEntry, ...]
    disk: Disk | None


Upkeep = PayloadVerify | PayloadRetire | PayloadRestore | PayloadPurge | PayloadList
"""All of them."""
