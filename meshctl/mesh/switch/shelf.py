"""Keeps what a switch must not forget: one file, replaced whole or not at all, and one owner."""

from __future__ import annotations

import fcntl
import os
import stat
from collections import Counter
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from meshctl.errors import UsageError
from meshctl.mesh.switch.events import Remembered, SaveEnd
from meshctl.mesh.switch.socket import prove_folder
from meshctl.spec.registry import Entry, refusal
from meshctl.spec.switch import Backend, BackendName, Outcome

LARGEST = 2**20
"""Bytes of the file at most: 32 backends of 256 models stay below it."""
_AWAY = "put a good copy in its place, or move it away to begin with no backend"


class _Document(Entry):
    version: Literal[1]
    active: BackendName | None
    backends: tuple[Backend, ...]
    outcomes: tuple[Outcome, ...]


class Shelf:
    """The file of one switch; whoever has it open is the only mesh that uses it."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError where the file cannot be used, or another mesh uses it."""
        self._path = path
        prove_folder(path.parent, "MESH_SWITCH_FILE")
        try:
            self._lock = _locked(path)
        except BlockingIOError:
            hint = "stop that one, or name another file"
            raise _wrong(path, "another mesh uses it", hint) from None
        except OSError as error:
            raise _unusable(path, error) from None

    def close(self) -> None:
        """Lets another mesh use it."""
        self._lock.close()

    def read(self) -> Remembered:
        """What was kept last; nothing where there is no file. Raises UsageError for a file that
        is damaged: what was served before is never guessed."""
        try:
            text = _read(self._path)
        except FileNotFoundError:
            return Remembered()
        except OSError as error:
            raise _unusable(self._path, error) from None
        try:
            document = _Document.model_validate_json(text)
        except ValidationError as error:
            problem = refusal(error, place=str(self._path), path=_dotted).problems[0]
            where = f"{problem.path}: " if problem.path else ""
            raise _wrong(self._path, f"{where}{problem.message}", _AWAY) from None
        _refuse_contradictions(self._path, document)
        return Remembered(document.active, document.backends, document.outcomes)

    def write(self, kept: Remembered) -> tuple[SaveEnd, str]:
        """Puts this in its place, and says whether it will still be there after a loss of power;
        and why not."""
        document = _Document(version=1, **vars(kept))
        aside = self._path.with_name(f".{self._path.name}.new")  # ours alone, as the lock is
        try:
            _write(aside, document.model_dump_json(indent=1).encode() + b"\n")
            os.replace(aside, self._path)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            return "failed", f"{self._path}: {error.strerror}"
        try:
            _sync(self._path.parent)
        except OSError as error:
            return "doubtful", f"{self._path.parent}: {error.strerror}"
        return "saved", ""


def _locked(path: Path) -> FileIO:
    """The lock is a file of its own, for the other one is replaced; the kernel ends it with us."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = FileIO(os.open(path.with_name(f".{path.name}.lock"), flags, 0o600), "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _read(path: Path) -> bytes:
    """Only a plain file of our own, or of root's: whoever may write it chooses where clients go."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with closing(FileIO(os.open(path, flags))) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _wrong(path, "is no file", "name another one")
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
            raise _wrong(path, "others may write it", "give it to the mesh's user, with mode 600")
        if found.st_size > LARGEST:
            raise _wrong(path, f"is larger than {LARGEST} bytes", _AWAY)
        return file.readall() or b""


def _write(path: Path, data: bytes) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """The name of a file belongs to its folder."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _refuse_contradictions(path: Path, document: _Document) -> None:
    names = [backend.name for backend in document.backends]
    for name, count in Counter(names).items():
        if count > 1:
            raise _wrong(path, f"backends: {name!r} is there {count} times", _AWAY)
    if document.active is not None and document.active not in names:
        raise _wrong(path, f"active: no backend named {document.active!r}", _AWAY)


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)


def _unusable(path: Path, error: OSError) -> UsageError:
    return _wrong(path, f"cannot be used: {error.strerror}", "set MESH_SWITCH_FILE anew")


def _wrong(path: Path, message: str, hint: str) -> UsageError:
    return UsageError(f"{path}: {message}", hint=hint, place=str(path))
