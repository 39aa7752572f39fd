"""Resumable uploads: sessions that survive restarts, and the bytes they have so far."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from meshctl.emulator import disk
from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.storage.objects import not_found

_RANGE = re.compile(r"^bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)$")


@dataclass
class Session:
    """One upload: where it goes, under which conditions; done = the object's generation."""

    id: str
    bucket: str
    name: str
    attributes: dict[str, Any]
    conditions: dict[str, int | None]
    done: int | None = None


@dataclass(frozen=True)
class ContentRange:
    """A Content-Range header: first byte (None = a question), and the total when known."""

    first: int | None
    total: int | None


def content_range(text: str | None) -> ContentRange:
    """The header read; without one the body is the whole object."""
    if text is None:
        return ContentRange(0, None)
    match = _RANGE.match(text.strip())
    if not match:
        raise invalid(f"Failed to parse Content-Range header: {text}")
    first, _, total = match.groups()
    return ContentRange(
        int(first) if first is not None else None, None if total == "*" else int(total)
    )


class Uploads:
    """All sessions, each a JSON and a file of the bytes received."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def begin(
        self,
        bucket: str,
        name: str,
        attributes: dict[str, Any],
        conditions: dict[str, int | None],
    ) -> Session:
        """A new session."""
        session = Session(uuid.uuid4().hex, bucket, name, attributes, conditions)
        self.part(session).touch()
        self.save(session)
        return session

    def save(self, session: Session) -> None:
        """Write a session down."""
        disk.write_json(self._folder / f"{session.id}.json", asdict(session))

    def get(self, upload_id: str) -> Session:
        """A session; ApiError 404 when it is unknown or was cancelled."""
        if not re.fullmatch(r"[0-9a-f]{32}", upload_id):
            raise not_found("No such upload session.")
        row = disk.read_json(self._folder / f"{upload_id}.json")
        if row is None:
            raise not_found("No such upload session.")
        return Session(**row)

    def part(self, session: Session) -> Path:
        """Where the bytes so far lie."""
        return self._folder / f"{session.id}.part"

    def received(self, session: Session) -> int:
        """How many bytes have arrived."""
        path = self.part(session)
        return path.stat().st_size if path.exists() else 0

    def cancel(self, session: Session) -> None:
        """Forget a session."""
        disk.remove(self._folder / f"{session.id}.json")
        disk.remove(self.part(session))

    async def append(self, session: Session, first: int, body: AsyncIterator[bytes]) -> None:
        """Write a chunk; bytes already here are skipped, a gap is refused.

        What arrived before a cut connection is kept, as the 308 answer then tells.
        """
        have = self.received(session)
        if first > have:
            raise ApiError(
                "UNAVAILABLE",
                f"Invalid request.  According to the Content-Range header, the upload offset is "
                f"{first} byte(s), which exceeds already uploaded size of {have} byte(s).",
            )
        skip = have - first
        with self.part(session).open("ab") as file:
            async for chunk in body:
                file.write(chunk[skip:])
                skip = max(0, skip - len(chunk))
