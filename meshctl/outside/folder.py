"""Walks a folder and reads its files, and notices when one changes between the two."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from meshctl.errors import Refused, UsageError


@dataclass(frozen=True)
class Entry:
    """One file or symbolic link as it was when it was listed; `link` is the link's target."""

    path: str
    source: Path
    bytes: int
    mtime_ns: int
    executable: bool
    link: str | None = None


class Changed(Refused):
    """A file vanished or was written to after it was listed."""


def walk(root: Path, ignored: Callable[[str], bool]) -> list[Entry]:
    """Every file and link below `root`, sorted by path; folders as such are not listed.

    `ignored` is asked about each relative posix path, that of a folder with a slash at its end; an
    ignored folder is not entered. Raises UsageError for what cannot be packed.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", place=str(root), hint="check the path")
    return sorted(_below(root, "", ignored), key=lambda entry: entry.path)


def _below(root: Path, prefix: str, ignored: Callable[[str], bool]) -> Iterator[Entry]:
    try:
        found = list(os.scandir(root / prefix))
    except OSError as error:
        raise _unreadable(root / prefix, error) from error
    for item in found:
        path = prefix + item.name
        if item.is_dir(follow_symlinks=False):
            if not ignored(path + "/"):
                yield from _below(root, path + "/", ignored)
        elif not ignored(path):
            yield _entry(root, path)


def _entry(root: Path, path: str) -> Entry:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the name of {path!r} is not UTF-8", place=str(root), hint="rename it or ignore it"
        ) from error
    source = root / path
    found = _status(source)
    if stat.S_ISLNK(found.st_mode):
        return Entry(path, source, 0, found.st_mtime_ns, False, _target_inside(root, source))
    return _file(path, source, found)


def entry(path: str, source: Path) -> Entry:
    """One file that is to be known as `path`; a link is followed to its file."""
    return _file(path, source, _status(source.resolve()))


def _file(path: str, source: Path, found: os.stat_result) -> Entry:
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(
            f"{path} is neither a file, a folder nor a link",
            place=str(source),
            hint="remove it, or name it in .gcloudignore",
        )
    return Entry(path, source, found.st_size, found.st_mtime_ns, bool(found.st_mode & 0o100))


def _target_inside(root: Path, source: Path) -> str:
    """The link's target, which must be relative and lie inside: elsewhere it means nothing."""
    try:
        target = os.readlink(source)
    except OSError as error:
        raise _unreadable(source, error) from error
    home, real = os.path.realpath(root), os.path.realpath(source)
    if os.path.isabs(target) or os.path.commonpath([home, real]) != home:
        raise UsageError(
            f"{source.relative_to(root).as_posix()} is a link to {target}, outside the folder",
            place=str(source),
            hint="put the file itself there, or name the link in .gcloudignore",
        )
    return target


def _status(source: Path) -> os.stat_result:
    try:
        return source.lstat()
    except OSError as error:
        raise _unreadable(source, error) from error


@contextlib.contextmanager
def opened(entry: Entry) -> Iterator[BufferedReader]:
    """The file's bytes, exactly as it was listed.

    Raises Changed when the file is not, or while it was read no longer was, what was listed.
    """
    try:
        file = entry.source.open("rb")
    except OSError as error:
        raise _unreadable(entry.source, error) from error
    with file:
        _prove_unchanged(entry, file)
        try:
            yield file
        finally:
            # Also after an error: a file cut short is why the reader stumbled.
            _prove_unchanged(entry, file)


def _prove_unchanged(entry: Entry, file: BufferedReader) -> None:
    now = os.fstat(file.fileno())
    if (now.st_size, now.st_mtime_ns) != (entry.bytes, entry.mtime_ns):
        raise Changed(
            f"{entry.path} changed while it was read",
            place=str(entry.source),
            hint="try again when nothing writes to it, or name it in .gcloudignore",
        )


def sha256_of(entry: Entry) -> str:
    """Lowercase hex digest of the file's bytes. Raises Changed."""
    with opened(entry) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_of(folder: Path, name: str) -> str | None:
    """The text of one file of the folder; None when there is none. Raises Refused, UsageError."""
    try:
        return (folder / name).read_text("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(folder / name, error) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name} is not UTF-8 text", place=str(folder / name), hint="save it as UTF-8"
        ) from error


def _unreadable(path: Path, error: OSError) -> Refused:
    if isinstance(error, FileNotFoundError):
        return Changed(
            f"{path.name} vanished while the folder was read",
            place=str(path),
            hint="try again when nothing removes files there, or name it in .gcloudignore",
        )
    return Refused(
        f"{path.name} cannot be read: {error.strerror}",
        place=str(path),
        hint="change its permissions, or name it in .gcloudignore",
    )
