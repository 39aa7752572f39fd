"""The source of a build: a tar file out of our own storage, unpacked safely."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from meshctl.emulator.failures import ApiError
from meshctl.emulator.storage.objects import Store
from meshctl.emulator.untar import extract


class SourceError(Exception):
    """A source that cannot be fetched or unpacked."""


def locate(store: Store, source: dict[str, Any]) -> Path:
    """The data file of the source; SourceError when it is not there."""
    place = source.get("storageSource")
    if not place:
        raise SourceError("only storageSource is supported as source")
    generation = int(place.get("generation") or 0) or None
    try:
        bucket = store.bucket(place.get("bucket", ""))
        return bucket.data(bucket.get(place.get("object", ""), generation))
    except ApiError as err:
        where = f"gs://{place.get('bucket')}/{place.get('object')}"
        raise SourceError(f"could not fetch {where}: {err.message}") from err


def unpack(file: Path, workspace: Path) -> None:
    """Unpack a tar file (gzip or plain); SourceError for one that would write outside. Blocking."""
    try:
        with tarfile.open(file, mode="r:*") as tar:
            extract(tar, workspace)
    except (tarfile.TarError, OSError, EOFError) as err:
        raise SourceError(f"could not unpack the source: {err}") from err
