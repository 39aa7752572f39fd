"""Proves that a payload stands in an installed distribution, byte for byte."""

from __future__ import annotations

from pathlib import Path

from meshctl.errors import CheckFailed, UsageError
from meshctl.outside.folder import entry, sha256_of
from meshctl.outside.packages import SCHEME, Files, folder_of
from meshctl.quantities import show_bytes
from meshctl.spec.model import Payload, PayloadFile


def prove(payload: Payload, name: str) -> dict[str, Path]:
    """Where each file of the payload is, its size and then its sha256 proved.

    Raises UsageError when the source is no installed distribution, or does not have the file;
    CheckFailed, naming file, expected and found, when the bytes are not the declared ones.
    """
    found = located(payload, name)
    for file, expected in payload.files.items():
        _prove(found[file], file, expected, f"payloads.{name}")
    return found


def located(payload: Payload, name: str) -> dict[str, Path]:
    """Where each file of the payload is; nothing of it is read. Raises UsageError like `prove`."""
    place = f"payloads.{name}"
    if not payload.source.startswith(SCHEME):
        raise UsageError(
            f"{payload.source} is not a {SCHEME} source", place=place,
            hint=f"write {SCHEME}DISTRIBUTION, or deliver it with `fetch` instead of `bake`",
        )  # fmt: skip
    installed = folder_of(payload.source)
    return {file: _find(installed, file, place) for file in payload.files}


def _find(installed: Files, file: str, place: str) -> Path:
    """The installed file of that path, or the only one whose path ends with it."""
    exact = dict(installed).get(file)
    if exact is not None:
        return exact
    matches = [(path, at) for path, at in installed if f"/{path}".endswith(f"/{file}")]
    if len(matches) == 1:
        return matches[0][1]
    seen = ", ".join(path for path, _ in matches) or "none"
    raise UsageError(
        f"{file} must name one file of the distribution; found {seen}",
        place=f"{place}.files.{file}",
        hint="write more of its path, or reinstall the distribution",
    )


def _prove(at: Path, file: str, expected: PayloadFile, place: str) -> None:
    listed = entry(file, at)
    if listed.bytes != expected.bytes:
        raise _differs(file, place, f"{expected.bytes} bytes ({show_bytes(expected.bytes)})",
                       f"{listed.bytes} bytes")  # fmt: skip
    digest = sha256_of(listed)
    if digest != expected.sha256:
        raise _differs(file, place, f"sha256 {expected.sha256}", digest)


def _differs(file: str, place: str, expected: str, found: str) -> CheckFailed:
    return CheckFailed(
        f"{file}: expected {expected}, found {found}",
        place=f"{place}.files.{file}",
        hint="reinstall the distribution, or correct the declared size and digest",
    )
