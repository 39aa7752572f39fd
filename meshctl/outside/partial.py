"""Keeps the bytes of a file that is being fetched, so that the next process goes on where one died.

`.NAME.part` holds the bytes, from the first one on and without a hole: its length is how far it is.
`.NAME.part.json` says which state of which source they are of. The file itself appears whole, by
a rename; its manifest is there before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from meshctl.errors import LockHeld, Refused
from meshctl.outside.clock import Clock

READ = 2**20
"""Bytes of one reading of what is kept."""
_POLL_S = 0.5


@dataclass(frozen=True)
class Origin:
    """Of what the bytes are: the source, the state it was in, and its size in bytes."""

    source: str
    version: str
    bytes: int


class Partial:
    """What is here so far of one file; only one process has it at a time."""

    def __init__(self, to: Path, descriptor: int) -> None:
        self.to, self._file = to, descriptor
        self.path = beside(to)
        self._note = self.path.with_name(f"{self.path.name}.json")

    @property
    def length(self) -> int:
        """How many bytes are here."""
        return os.fstat(self._file).st_size

    def keep(self, origin: Origin) -> int:
        """How many bytes of this origin are here; those of any other are thrown away."""
        if self._noted() != origin or self.length > origin.bytes:
            self.empty()
            write_whole(self._note, json.dumps(asdict(origin)).encode())
        return self.length

    def kept(self) -> Iterator[bytes]:
        """The bytes that are here, piece by piece."""
        at = 0
        while piece := os.pread(self._file, READ, at):
            yield piece
            at += len(piece)

    def add(self, data: bytes) -> None:
        """Append. Raises Refused when the disk takes no more."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.pwrite(self._file, left, self.length) :]
        except OSError as error:
            raise Refused(
                f"the disk takes no more: {error.strerror}",
                place=str(self.path),
                hint="free some space and run the same command: it goes on from there",
            ) from error

    def publish(self, manifest: Path, describe: Callable[[int], bytes]) -> None:
        """The file, whole and on disk, under its name. `describe` makes its manifest from its time
        of change in nanoseconds."""
        os.fsync(self._file)
        write_whole(manifest, describe(os.fstat(self._file).st_mtime_ns))
        self.path.replace(self.to)
        self._note.unlink(missing_ok=True)
        _sync(self.to.parent)

    def empty(self) -> None:
        """Throw the bytes away."""
        os.ftruncate(self._file, 0)

    def drop(self) -> None:
        """Nothing of it is kept, not even that it was begun."""
        self.empty()
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def _noted(self) -> Origin | None:
        """What the note says; None where there is none that can be read."""
        try:
            found = Origin(**json.loads(self._note.read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        kinds = (type(found.source), type(found.version), type(found.bytes))
        return found if kinds == (str, str, int) else None


@contextlib.contextmanager
def held(to: Path, clock: Clock, wait_s: float) -> Iterator[Partial]:
    """The partial of a file, for this process alone. Raises LockHeld while another has it, and
    Refused where nothing can be written."""
    descriptor = _locked(to, clock, wait_s)
    partial = Partial(to, descriptor)
    try:
        yield partial
    finally:
        if _is(partial.path, descriptor) and not partial.length:
            partial.drop()  # nothing was begun: nothing stays behind
        os.close(descriptor)


def beside(to: Path) -> Path:
    """Where the bytes of a file are before it is whole."""
    return to.with_name(f".{to.name}.part")


def _locked(to: Path, clock: Clock, wait_s: float) -> int:
    """Whoever had the lock may have renamed the file away: then another one has its name."""
    deadline = clock.monotonic() + wait_s
    while True:
        descriptor = _open(beside(to))
        taken = _take(descriptor)
        if taken and _is(beside(to), descriptor):
            return descriptor
        os.close(descriptor)
        if taken:
            continue
        if clock.monotonic() >= deadline:
            raise LockHeld(
                "another process fetches or publishes this file now",
                place=str(to),
                hint="let it finish, or wait for it: --lock-wait 30m",
            )
        clock.sleep(_POLL_S)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Refused(
            f"nothing can be written there: {error.strerror}",
            place=str(path.parent),
            hint="name another folder with --to, or change its permissions",
        ) from error


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is(path: Path, descriptor: int) -> bool:
    """Whether the name still means the file that is open."""
    try:
        found, mine = path.lstat(), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)


def free_bytes(folder: Path) -> int:
    """What the disk of a folder still takes."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing, and on disk."""
    aside = path.with_name(f"{path.name}.new")
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def _sync(folder: Path) -> None:
    """A rename is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def appear(aside: Path, folder: Path) -> None:
    """A folder takes its name, with all that is in it, at once. Raises Refused where the name was
    taken meanwhile."""
    try:
        aside.replace(folder)
    except OSError as error:
        raise Refused(
            f"the folder cannot be put in place: {error.strerror}",
            place=str(folder),
            hint=f"all of it is in {aside}: move {folder} away and run the same command again",
        ) from error
    _sync(folder.parent)
