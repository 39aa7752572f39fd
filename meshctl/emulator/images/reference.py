"""Image references: repository, tag, digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"^[a-z0-9]+([._:/-]+[a-z0-9]+)*$")
_TAG = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$")
_DIGEST = re.compile(r"^sha256:[0-9a-f]{64}$")


@dataclass(frozen=True)
class Reference:
    """`repo:tag` or `repo@sha256:…`; a digest wins over a tag."""

    repository: str
    tag: str | None
    digest: str | None


def parse(text: str) -> Reference | None:
    """The parts of a reference (tag defaults to latest), None where it is none."""
    rest, at, digest = text.partition("@")
    if at and not _DIGEST.match(digest):
        return None
    name, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        name, tag = rest, ""
    if not _NAME.match(name) or (tag and not _TAG.match(tag)):
        return None
    return Reference(name, tag or (None if digest else "latest"), digest or None)
