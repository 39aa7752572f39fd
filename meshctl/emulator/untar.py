"""Unpacks tar files that anybody may have made: nothing outside the folder is written or reached.

Python has filters for this from 3.11.4 on; Debian 12 has 3.11.2.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from posixpath import dirname, join, normpath

_TRUSTED = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
"""The members were looked at already; newer Pythons want to be told so."""


class Escape(tarfile.TarError):
    """A member that would leave the folder, or that is neither file, folder nor link."""


def extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Every member in order. Raises Escape for an absolute name, `..`, a link that leads outside,
    a device, and whatever an earlier link would lead outside."""
    home = os.path.realpath(folder)
    for member in tar:
        _refuse(member)
        parent = os.path.realpath(os.path.join(home, dirname(member.name)))
        if parent != home and not parent.startswith(home + os.sep):
            raise Escape(f"{member.name!r} lies behind a link that leads outside")
        member.mode &= 0o777  # no setuid: nothing here runs as somebody else
        tar.extract(member, home, numeric_owner=True, **_TRUSTED)  # type: ignore[arg-type]


def _refuse(member: tarfile.TarInfo) -> None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise Escape(f"{member.name!r} is neither a file, a folder nor a link")
    if _leaves(member.name):
        raise Escape(f"{member.name!r} lies outside")
    start = dirname(member.name) if member.issym() else ""
    if (member.issym() or member.islnk()) and _leaves(member.linkname, start):
        raise Escape(f"{member.name!r} links to {member.linkname!r}, which lies outside")


def _leaves(name: str, start: str = "") -> bool:
    path = normpath(join(start, name))
    return name.startswith("/") or path == ".." or path.startswith("../")
