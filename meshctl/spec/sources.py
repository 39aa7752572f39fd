"""Reads where bytes come from: payload sources, image references, included files. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from meshctl.spec.near import near

SCHEMES = ("hub", "s3", "r2", "gs", "https", "file", "package", "image")
FETCHABLE = ("hub", "s3", "r2", "gs", "https")
"""Where an instance can fetch from; the rest lies on the operator's machine, or in an image."""
_FORMS = {
    "hub": r"(?P<place>[\w.-]+/[\w.-]+)@(?P<commit>[0-9a-f]{40})(/(?P<path>[^\s]+))?",
    "s3": r"//(?P<place>[a-z0-9][a-z0-9._-]+)/(?P<path>[^\s]+)",
    "https": r"//(?P<place>[^\s/@?#]+)/(?P<path>[^\s]+)",
    "file": r"(?P<place>[^\s].*)",
    "package": r"(?P<place>[A-Za-z0-9][A-Za-z0-9._-]*)(/(?P<path>[^\s]+))?",
    "image": r"(?P<place>[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64})",
}
_WORDS = {
    "hub": "hub:OWNER/NAME@COMMIT, with all 40 hex digits of the commit",
    "s3": "SCHEME://BUCKET/KEY",
    "https": "https://HOST/PATH, without a user or a password in it",
    "file": "file:PATH, relative to this file",
    "package": "package:DISTRIBUTION or package:DISTRIBUTION/FOLDER",
    "image": "image:REPOSITORY@sha256:DIGEST, for files known only from inside an image",
}
_REF = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)+")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


@dataclass(frozen=True)
class Source:
    """Where a payload lives.

    `place` is the hub repository, the bucket, the host, the file or the distribution; `path` is the
    key or folder inside it; `commit` is the hub's, 40 hex digits, elsewhere empty.
    """

    scheme: str
    place: str
    path: str = ""
    commit: str = ""


def parse_source(text: str) -> Source:
    """`hub:org/name@COMMIT` -> its parts. Raises ValueError with the form that the scheme wants.

    The text is not repeated in the error, for a URL may carry a password.
    """
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in SCHEMES:
        raise ValueError(f"the source begins with none of: {', '.join(f'{s}:' for s in SCHEMES)}")
    form = "s3" if scheme in ("s3", "r2", "gs") else scheme
    match = re.fullmatch(_FORMS[form], rest, re.ASCII)
    if not match:
        raise ValueError(f"the source must be {_WORDS[form].replace('SCHEME', scheme)}")
    parts = match.groupdict()
    if form != "file" and not is_inside(parts.get("path") or "x"):
        raise ValueError("the source must not hold `..`")
    return Source(scheme, parts["place"], parts.get("path") or "", parts.get("commit") or "")


def file_source(source: Source, files: Collection[str], name: str) -> str:
    """One of the files of a payload as a source of its own: the payload's may be the folder that
    holds them, or its only file. Only for what is FETCHABLE."""
    path = source.path.rstrip("/")
    if len(files) == 1 and (path == name or path.endswith(f"/{name}")):
        path = path.removesuffix(name).rstrip("/")
    at = f"@{source.commit}" if source.commit else ""
    slashes = "" if source.scheme == "hub" else "//"
    return f"{source.scheme}:{slashes}{source.place}{at}/{f'{path}/{name}'.lstrip('/')}"


def is_inside(path: str) -> bool:
    """Whether a relative path stays inside the folder it is relative to."""
    parts = path.split("/")
    return bool(path) and not path.startswith("/") and "\\" not in path and ".." not in parts


def refuse_reference(ref: str) -> str:
    """What is wrong with a pinned image reference; empty when nothing is."""
    if _REF.fullmatch(ref):
        return ""
    return "the image is not pinned: REPOSITORY@sha256: and 64 lowercase hex digits"


def refuse_repository(repository: str) -> str:
    """What is wrong with the place where built images are pushed; empty when nothing is."""
    if _REPOSITORY.fullmatch(repository):
        return ""
    return "the repository must be HOST/PATH in lowercase, without a tag or a digest"


def refuse_tag(tag: str) -> str:
    """What is wrong with the form of a tag; empty when nothing is."""
    if tag.count("{n}") != 1:
        return "the tag must hold {n} exactly once, for the number of the build"
    if not _TAG.fullmatch(tag.replace("{n}", "0")):
        return "the tag may hold letters, digits, `_`, `.` and `-`, at most 120 of them"
    return ""


def refuse_included(value: str, payloads: frozenset[str]) -> tuple[str, str]:
    """What is wrong with `payload:NAME` or `package:DISTRIBUTION[/FOLDER]`, and what to do."""
    scheme, _, rest = value.partition(":")
    if scheme == "payload":
        return (
            ("", "") if rest in payloads else (f'no payload named "{rest}"', near(rest, payloads))
        )
    if scheme == "package" and re.fullmatch(_FORMS["package"], rest, re.ASCII):
        return ("", "") if is_inside(rest) else ("the folder must not hold `..`", "")
    return "must be payload:NAME or package:DISTRIBUTION[/FOLDER]", "say where the files come from"
