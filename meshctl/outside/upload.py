"""Sends a file through a resumable upload session of Cloud Storage, and proves what arrived.

An upload is a session's URL and the file on disk: whoever has both can carry on, also another
process, for it begins by asking the cloud how much it has.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from meshctl.errors import CheckFailed
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import ApiError, LostAnswer, NotFound

CHUNK_BYTES = 8 * 2**20
"""Cloud Storage takes multiples of 256 KiB; 8 MiB is what its documentation recommends."""
WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Waits after failures in a row, about a minute; a chunk that got through starts them again."""

Progress = Callable[[int, int], None]
"""Called with the bytes the cloud has and the bytes of the whole."""


@dataclass(frozen=True)
class Answer:
    """What the cloud said to one PUT; `range` is the header of that name."""

    status: int
    range: str
    body: bytes


Put = Callable[[bytes, str], Answer]
"""Puts bytes under a Content-Range. Raises LostAnswer when no answer came."""


@dataclass(frozen=True)
class Uploaded:
    """An object as the cloud confirmed it; `crc32c` in base64, as Cloud Storage writes it."""

    bucket: str
    name: str
    generation: str
    bytes: int
    crc32c: str


def upload(put: Put, path: Path, clock: Clock, progress: Progress) -> Uploaded:
    """Put what the session does not have yet, and prove size and crc32c of the object.

    Raises LostAnswer when the cloud takes nothing for about a minute, NotFound when the session
    is over, CheckFailed when the cloud holds other bytes than the file.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        answer = _Upload(put, file, size, progress).run(clock)
    return _proved(answer, path, size)


class _Upload:
    """One file on its way into one session; what the cloud says it has is the only truth."""

    def __init__(self, put: Put, file: IO[bytes], size: int, progress: Progress) -> None:
        self.put, self.file, self.size, self.progress = put, file, size, progress
        self.has: int | None = None

    def run(self, clock: Clock) -> bytes:
        """The object's description, once the last byte is there."""
        waits, most = iter(WAITS_S), 0
        while True:
            try:
                answer = self._ask() if self.has is None else self._put_chunk(self.has)
            except LostAnswer as lost:
                self.has = None
                clock.sleep(_next(waits, lost))
                continue
            self.progress(self.size if answer else self.has or 0, self.size)
            if answer is not None:
                return answer
            if self.has and self.has > most:
                waits, most = iter(WAITS_S), self.has

    def _ask(self) -> bytes | None:
        return self._understood(self.put(b"", f"bytes */{self.size}"))

    def _put_chunk(self, start: int) -> bytes | None:
        self.file.seek(start)
        chunk = self.file.read(CHUNK_BYTES)
        if chunk:
            content_range = f"bytes {start}-{start + len(chunk) - 1}/{self.size}"
            answer = self._understood(self.put(chunk, content_range))
            if answer is not None or (self.has or 0) > start:
                return answer
        raise LostAnswer(f"the cloud took nothing after byte {start}")

    def _understood(self, answer: Answer) -> bytes | None:
        """The object when it is complete; otherwise what the cloud has is noted in `has`."""
        if answer.status in (200, 201):
            return answer.body
        if answer.status == 308:
            self.has = _received(answer.range)
            return None
        body = answer.body[:200].decode(errors="replace")
        text = f"the upload was answered HTTP {answer.status}: {body}"
        if answer.status in (408, 429) or answer.status >= 500:
            raise LostAnswer(text)
        if answer.status in (404, 410):
            raise NotFound("NOT_FOUND", f"the upload session is over; {text}", hint="build again")
        raise ApiError(str(answer.status), text, hint="build again")


def _received(header: str) -> int:
    """`bytes=0-1048575` -> 1048576; no header means nothing was kept."""
    match = re.fullmatch(r"bytes=0-(\d+)", header.strip())
    return int(match[1]) + 1 if match else 0


def _next(waits: Iterator[float], lost: LostAnswer) -> float:
    for wait_s in waits:
        return wait_s
    raise LostAnswer(
        f"the upload does not get on: {lost.message}",
        place=lost.place,
        hint="check the network, then build again",
    ) from lost


def _proved(answer: bytes, path: Path, size: int) -> Uploaded:
    found = _parse(answer)
    expected = crc32c_of(path)
    if (found.bytes, found.crc32c) != (size, expected):
        raise CheckFailed(
            f"expected {size} bytes with crc32c {expected},"
            f" found {found.bytes} with {found.crc32c}",
            place=f"gs://{found.bucket}/{found.name}",
            hint="build again; when it happens twice, doubt the network or the disk",
        )
    return found


def _parse(answer: bytes) -> Uploaded:
    try:
        found = json.loads(answer)
        return Uploaded(
            found["bucket"],
            found["name"],
            str(found["generation"]),
            int(found["size"]),
            found["crc32c"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ApiError(
            "UNKNOWN", "the upload was confirmed without size and crc32c", hint="build again"
        ) from error


def crc32c_of(path: Path) -> str:
    """The file's crc32c in base64, as Cloud Storage reports it."""
    import google_crc32c

    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            crc = google_crc32c.extend(crc, chunk)
    return base64.b64encode(crc.to_bytes(4, "big")).decode()
