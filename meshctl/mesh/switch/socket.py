"""Opens the admin socket: for its owner alone, and never in the place of a stranger's."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import closing
from pathlib import Path

from meshctl.errors import UsageError

VARIABLE = "MESH_ADMIN_SOCKET"


def opened(path: Path) -> socket.socket:
    """The socket, listening for nobody yet, with mode 600 from its first moment.

    One that a mesh left behind when it was killed is replaced. Raises UsageError for a path that
    somebody else owns or listens at, and for a folder in which somebody else could put another one.
    """
    prove_folder(path.parent, VARIABLE)
    _remove_stale(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bound.bind(os.fspath(path))
    except OSError as error:
        bound.close()
        raise _wrong(path, error.strerror or str(error)) from None
    finally:
        os.umask(before)
    return bound


def prove_folder(folder: Path, variable: str) -> None:
    """Only we, and root, can put something in the place of what is in it. Raises UsageError."""
    try:
        found = folder.stat()
    except OSError as error:
        raise _wrong(folder, error.strerror or str(error), variable) from None
    if not stat.S_ISDIR(found.st_mode):
        raise _wrong(folder, "is no folder", variable)
    shared = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if shared or found.st_uid not in (0, os.geteuid()):
        raise _wrong(folder, "others may put something in the place of what is there", variable)


def _remove_stale(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from None
    if found.st_uid != os.geteuid():
        raise _wrong(path, "is somebody else's")
    if not stat.S_ISSOCK(found.st_mode):
        raise _wrong(path, "is there, and is no socket")
    if _is_heard(path):
        raise _wrong(path, "somebody listens there already")
    path.unlink(missing_ok=True)


def _is_heard(path: Path) -> bool:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(os.fspath(path))
        except ConnectionRefusedError:
            return False
        except OSError:  # a full backlog, or whatever is not known to be nobody
            return True
    return True


def _wrong(path: Path, message: str, variable: str = VARIABLE) -> UsageError:
    return UsageError(f"{path}: {message}", hint=f"set {variable} anew", place=str(path))
