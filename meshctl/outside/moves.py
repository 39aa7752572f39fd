"""Moves files on one filesystem: never over another one, never half, and one mover at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from meshctl.errors import LockHeld, Refused
from meshctl.outside.clock import Clock
from meshctl.outside.partial import write_whole

_POLL_S = 0.2
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK)


@contextlib.contextmanager
def alone(folder: Path, clock: Clock, wait_s: float) -> Iterator[None]:
    """Only this process changes what is in that folder; it is made where it is not there. Raises
    LockHeld while another does, and Refused where nothing can be written."""
    descriptor = _open(folder)
    deadline = clock.monotonic() + wait_s
    try:
        while not _take(descriptor):
            if clock.monotonic() >= deadline:
                raise LockHeld(
                    "another process changes this trash now",
                    place=str(folder),
                    hint="let it finish, or wait for it: --lock-wait 1m",
                )
            clock.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def move(source: Path, to: Path) -> None:
    """Give a file another name on the same filesystem. Raises Refused where that name is taken.

    It has both names for a moment: whoever was killed in it finds `is_same`, and moves again.
    """
    try:
        _make(to.parent)
        if not is_same(source, to):
            _link(source, to)
        source.unlink(missing_ok=True)  # gone where a rename had to do
    except OSError as error:
        raise _refused(source, to, error) from error
    sync(to.parent)
    sync(source.parent)


def _make(folder: Path) -> None:
    """A folder and those above it, each on disk before anything is moved into it."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def is_same(one: Path, other: Path) -> bool:
    """Whether both names are there, for one file; links are not followed."""
    try:
        a, b = one.lstat(), other.lstat()
    except OSError:
        return False
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def _link(source: Path, to: Path) -> None:
    """A hard link is refused by the kernel where the name is taken; a rename would overwrite."""
    try:
        os.link(source, to, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(to):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        source.rename(to)


def swap(aside: Path, to: Path, beside: tuple[Path, Path]) -> None:
    """A file takes the place of another at once; what lies `beside` it (from, to) goes first."""
    os.replace(*beside)
    aside.replace(to)
    sync(to.parent)


def make_folder(folder: Path) -> bool:
    """Make a folder that was not there; False where it was."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritable(folder, error) from error
    return True


def write(path: Path, text: str) -> None:
    """The whole text, on disk before this returns. Raises Refused."""
    try:
        write_whole(path, text.encode())
        sync(path.parent)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def remove(path: Path) -> None:
    """Delete one file; nothing where it is gone already. Raises Refused."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def remove_empty(folder: Path) -> None:
    """Remove a folder and those in it, as far as nothing lies in them. Links are not followed."""
    for here, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(here)


def sync(folder: Path) -> None:
    """A name is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int:
    try:
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "it is a link")
        folder.mkdir(exist_ok=True)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refused(source: Path, to: Path, error: OSError) -> Refused:
    if error.errno == errno.EXDEV:
        message, hint = "it lies on another filesystem", "name the folder of that one with --at DIR"
    elif error.errno == errno.EEXIST:
        old = f"{shlex.quote(str(to))} {shlex.quote(f'{to}.old')}"
        message = f"{to} is there already, and is not overwritten"
        hint = f"move that one away first, then run the same command again: `mv -n -- {old}`"
    else:
        message, hint = f"it cannot be moved: {error.strerror}", "change the permissions there"
    return Refused(message, place=str(source), hint=hint)


def _unwritable(folder: Path, error: OSError) -> Refused:
    return Refused(
        f"nothing can be written there: {error.strerror}",
        place=str(folder),
        hint="change its permissions, or name another folder with --at DIR",
    )
