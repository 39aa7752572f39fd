"""Stores small objects under keys, and changes them only under a condition.

Every write says what it expects: `create` that nothing is there, `replace` and `delete` that the
generation is the one last read. That is all a lock and an append-only journal need, and it is the
same on a folder and on a bucket.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.several import several


@dataclass(frozen=True)
class Stored:
    """An object as it was read; `generation` names exactly this version of it."""

    data: bytes
    generation: str


class ObjectStore(Protocol):
    """Objects under keys like `runs/RUN/000001.json`. Raises Unreachable when it is not there."""

    def read(self, key: str) -> Stored | None: ...

    def create(self, key: str, data: bytes) -> str | None:
        """Write a new object and return its generation; None when the key is taken."""
        ...

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        """Write over exactly that generation; None when it is not the current one."""
        ...

    def delete(self, key: str, generation: str) -> bool:
        """Remove exactly that generation; False when it is not the current one."""
        ...

    def list(self, prefix: str) -> list[str]:
        """Every key that starts with the prefix, sorted."""
        ...


def read_many(store: ObjectStore, keys: list[str]) -> list[Stored | None]:
    """The objects under these keys, in their order. A bucket is far away: a store that says how
    many it takes `at_once` is asked so many at a time."""
    return several(store.read, keys, getattr(store, "at_once", 1))


class DirStore:
    """A folder. Objects are written aside, synced, then linked or renamed into place."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, key: str) -> Stored | None:
        try:
            with self._path(key).open("rb") as file:
                data = file.read()
                return Stored(data, _generation(os.fstat(file.fileno()), data))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise self._unreachable(error) from error

    def create(self, key: str, data: bytes) -> str | None:
        path = self._path(key)
        with self._aside(path, data) as aside:
            new = _generation(os.stat(aside), data)  # before others can write over it
            try:
                os.link(aside, path)
            except FileExistsError:
                return None
            _sync_folder(path.parent)
            return new

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        path = self._path(key)
        with self._exclusive(), self._aside(path, data) as aside:
            if not self._is_current(path, generation):
                return None
            new = _generation(os.stat(aside), data)
            os.rename(aside, path)
            _sync_folder(path.parent)
            return new

    def delete(self, key: str, generation: str) -> bool:
        path = self._path(key)
        with self._exclusive():
            if not self._is_current(path, generation):
                return False
            try:
                path.unlink()
            except OSError as error:
                raise self._unreachable(error) from error
            _sync_folder(path.parent)
            return True

    def list(self, prefix: str) -> list[str]:
        folder = self.root / prefix.rpartition("/")[0]
        try:
            found = [path.relative_to(self.root).as_posix() for path in _files(folder)]
        except OSError as error:  # what cannot be read is not nothing
            raise self._unreachable(error, error.filename) from error
        return sorted(key for key in found if key.startswith(prefix))

    def names(self, folder: str) -> tuple[str, ...]:
        """What is directly in a folder of the store, sorted; hidden files are left out."""
        try:
            found = os.listdir(self.root / folder)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise self._unreachable(error, error.filename) from error
        return tuple(sorted(name for name in found if not name.startswith(".")))

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise UsageError(f"{key!r} is not a key", hint="a key is names joined by slashes")
        return self.root.joinpath(*parts)

    def _unreachable(self, error: OSError, place: str | None = None) -> Unreachable:
        return Unreachable(
            f"the state folder cannot be used: {error.strerror}",
            place=str(place or self.root),
            hint="check its permissions and the disk, or give another one with --state",
        )

    @contextlib.contextmanager
    def _aside(self, path: Path, data: bytes) -> Iterator[str]:
        """The bytes in a synced temporary file beside `path`, removed unless it was renamed."""
        try:
            _make_folder(path.parent)
            # Not mkstemp: its 0600 would keep out those who share the folder; the umask decides.
            aside = str(path.parent / f".aside-{secrets.token_hex(8)}")
            descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except OSError as error:
            raise self._unreachable(error) from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield aside
        except OSError as error:
            raise self._unreachable(error) from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside)

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One process at a time compares and swaps."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            guard = os.open(self.root / ".guard", os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            raise self._unreachable(error) from error
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    def _is_current(self, path: Path, generation: str) -> bool:
        try:
            return _generation(path.stat(), path.read_bytes()) == generation
        except FileNotFoundError:
            return False


def _files(folder: Path) -> Iterator[Path]:
    """Every file below the folder but hidden ones; none where it is absent. Raises OSError."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for parent, _, names in os.walk(folder, onerror=refuse):
        for path in (Path(parent, name) for name in names if not name.startswith(".")):
            if path.is_file():
                yield path


def _generation(status: os.stat_result, data: bytes) -> str:
    """Names one version. The content is in it, for inode numbers are used again and a file system
    may tell the time no finer than some milliseconds."""
    return f"{status.st_ino}-{status.st_mtime_ns}-{hashlib.sha256(data).hexdigest()[:16]}"


def _make_folder(folder: Path) -> None:
    """A folder that is still there after a power cut: each new one is synced into its parent."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
