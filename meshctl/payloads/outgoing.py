"""What a publication is asked for, and what remains of one that was cut short."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from meshctl.outside.multipart import S3Uploads
from meshctl.outside.partial import write_whole
from meshctl.outside.ranges import Folder

LEAST = 8 * 2**20
"""Bytes of one part: S3 takes 5 MiB at least, and boto3 sends 8."""
MOST_PARTS = 9_000
"""S3 and R2 take 10,000; the rest is room for a file that is larger than it was said to be."""
MIB = 2**20


@dataclass(frozen=True)
class Outgoing:
    """One file and where it goes; `folder` reads what is there, `key` is its whole name there."""

    path: Path
    bytes: int
    sha256: str
    bucket: S3Uploads
    folder: Folder
    key: str

    @property
    def to(self) -> str:
        """As people write it."""
        return f"{self.bucket.place}/{self.key}"


@dataclass(frozen=True)
class Published:
    """An object that was read back whole; `sent` bytes went out now, `resumed` had gone out before.
    `there`: it was there already."""

    path: Path
    to: str
    bytes: int
    sha256: str
    version: str
    sent: int = 0
    resumed: int = 0
    there: bool = False


@dataclass(frozen=True)
class Note:
    """An upload that was begun: of which bytes, whereto, and in parts of which size."""

    to: str
    sha256: str
    upload: str
    part_bytes: int


def part_bytes(size: int) -> int:
    """All parts but the last have this size, for R2 refuses others, and only at the very end."""
    return max(LEAST, -(-size // MOST_PARTS // MIB) * MIB)


def note_path(path: Path) -> Path:
    """Beside the file, hidden: `.x.gguf.publish`."""
    return path.with_name(f".{path.name}.publish")


def noted(outgoing: Outgoing) -> Note | None:
    """What an earlier process began of exactly this; None where it began nothing."""
    try:
        found = Note(**json.loads(note_path(outgoing.path).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    mine = (outgoing.to, outgoing.sha256, part_bytes(outgoing.bytes))
    sound = isinstance(found.upload, str) and bool(found.upload)
    return found if sound and (found.to, found.sha256, found.part_bytes) == mine else None


def note_down(outgoing: Outgoing, upload: str) -> Note:
    """Before the first part is sent: else nobody would know whose the parts are."""
    note = Note(outgoing.to, outgoing.sha256, upload, part_bytes(outgoing.bytes))
    write_whole(note_path(outgoing.path), json.dumps(asdict(note)).encode())
    return note


def forget(outgoing: Outgoing) -> None:
    """The upload is over."""
    note_path(outgoing.path).unlink(missing_ok=True)
