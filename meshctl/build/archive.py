"""Packs a frozen context into a tar.gz whose bytes depend on nothing but the context.

The owner is root and the time is zero, as gcloud has it; what is equal is stored once and linked,
for the wheel of an engine holds each library three times.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

from meshctl.build.context import Hashed
from meshctl.build.gzipped import Gzipped, level_for
from meshctl.errors import Refused
from meshctl.outside.folder import Entry, opened


def pack(hashed: Hashed, to: Path, packed: Callable[[int], None] = lambda _: None) -> None:
    """Write the archive; `packed` is called with the bytes read so far, file by file.

    Raises Changed when a file is no longer as it was listed, Refused when there is no room.
    """
    try:
        with to.open("wb") as file:
            zipped = Gzipped(file)
            with tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                _add_all(tar, zipped, hashed, packed)
            zipped.finish()
    except OSError as error:
        raise Refused(
            f"the archive cannot be written: {error.strerror or error}",
            place=str(to),
            hint="make room there, or set TMPDIR to another disk",
        ) from error


def _add_all(
    tar: tarfile.TarFile, zipped: Gzipped, hashed: Hashed, packed: Callable[[int], None]
) -> None:
    first: dict[tuple[str, bool], str] = {}
    done = 0
    for entry in hashed.context.entries:
        # A hard link shares its mode, so only files of one mode can be the same file.
        content = (hashed.sha256.get(entry.path, ""), entry.executable)
        twin = first.setdefault(content, entry.path) if entry.link is None else entry.path
        _add(tar, zipped, entry, twin)
        done += entry.bytes
        packed(done)


def _add(tar: tarfile.TarFile, zipped: Gzipped, entry: Entry, twin: str) -> None:
    info = tarfile.TarInfo(entry.path)
    info.uname = info.gname = "root"
    info.mode = 0o755 if entry.executable else 0o644
    if entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
    elif twin != entry.path:
        info.type, info.linkname = tarfile.LNKTYPE, twin
    if info.type != tarfile.REGTYPE:
        tar.addfile(info)
        return
    info.size = entry.bytes
    with opened(entry) as file:
        zipped.set_level(level_for(file, entry.bytes))
        tar.addfile(info, file)
