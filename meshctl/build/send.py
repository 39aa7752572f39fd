"""Brings an archive into the project's bucket, once: what is there is not sent again, and what was
sent by a process that died is not lost."""

from __future__ import annotations

import base64
from pathlib import Path

from meshctl.build.request import BuildRequest, Doors, Note
from meshctl.errors import CheckFailed
from meshctl.outside.gcp import ApiError, NotFound
from meshctl.outside.sessions import Kept
from meshctl.outside.storage import staging_bucket
from meshctl.outside.upload import Uploaded, crc32c_of


def sent(
    request: BuildRequest, doors: Doors, archive: Path, context_digest: str, note: Note
) -> Uploaded:
    """The archive as an object of the project's bucket, named by what is in it.

    Raises Refused when another process is sending it, LostAnswer when the cloud takes nothing,
    CheckFailed when the cloud holds other bytes than the file.
    """
    bucket, crc32c = staging_bucket(request.cloud.project), crc32c_of(archive)
    name = object_name(request.image, context_digest, crc32c)
    doors.uploads.ensure_bucket(bucket)
    with doors.sessions.held(f"gs://{bucket}/{name}") as kept:
        found = doors.uploads.find(bucket, name)
        if found is None:
            found = _sent(doors, kept, archive, bucket, name, note)
        kept.forget()
    return _proved(found, archive.stat().st_size, crc32c)


def object_name(image: str, context_digest: str, crc32c: str) -> str:
    """One name for one content: an upload that begins again must find where it was.

    The crc32c is in it because another zlib may pack the same context into other bytes.
    """
    return f"source/{image}-{context_digest[:16]}-{base64.b64decode(crc32c).hex()}.tgz"


def _sent(doors: Doors, kept: Kept, archive: Path, bucket: str, name: str, note: Note) -> Uploaded:
    begun = kept.url
    if begun is not None:
        note("resumed")
        try:
            return _put(doors, begun, archive, bucket, name, note)
        except NotFound:  # sessions live for a week
            kept.forget()
    url = doors.uploads.open_session(bucket, name, archive.stat().st_size)
    kept.keep(url)
    return _put(doors, url, archive, bucket, name, note)


def _put(doors: Doors, url: str, archive: Path, bucket: str, name: str, note: Note) -> Uploaded:
    def progress(has: int, size: int) -> None:
        note("upload", bytes=has, of=size)

    try:
        return doors.uploads.send(url, archive, progress)
    except ApiError:
        # Somebody else may have completed the same object meanwhile; the name says its content.
        found = doors.uploads.find(bucket, name)
        if found is None:
            raise
        return found


def _proved(found: Uploaded, size: int, crc32c: str) -> Uploaded:
    if (found.bytes, found.crc32c) != (size, crc32c):
        raise CheckFailed(
            f"expected {size} bytes with crc32c {crc32c}, found {found.bytes} with {found.crc32c}",
            place=f"gs://{found.bucket}/{found.name}",
            hint="remove that object, which is not what its name says, then build again",
        )
    return found
