"""Which machines a session has to itself, and the end of what a killed session left of them.

Two sessions at once once ended each other's machines: each thought the other's were leftovers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_SLOTS, _EACH = 20, 10


@contextlib.contextmanager
def numbers(kept: Path) -> Iterator[range]:
    """Numbers of machines that nobody else has while this lasts; the kernel takes the lock of a
    session that was killed. Raises RuntimeError where all are taken."""
    for slot in range(_SLOTS):
        with (kept / f"slot{slot}").open("w") as lock:
            if _locked(lock):
                yield range(slot * _EACH + 1, slot * _EACH + _EACH)
                return
    raise RuntimeError(f"{_SLOTS} sessions of the lab run here already")


def sweep(name: str, card: str, space: str) -> None:
    """End whatever an earlier run left of this machine, wherever its folder was."""
    for pid in launchers(name):
        for child in children(pid):
            _end(child)
        _end(pid)
    for mounted in _mounts(name):
        subprocess.run(["umount", "-l", mounted], capture_output=True)
    subprocess.run(["ip", "link", "del", card], capture_output=True)
    subprocess.run(["ip", "netns", "del", space], capture_output=True)


def launchers(name: str) -> list[int]:
    """What boots the machine of that name, and boots it again."""
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if f"--machine={name}" in (argv := _argv(folder)) and argv[0].endswith("systemd-nspawn")
    ]


def children(pid: int) -> list[int]:
    """Of its first thread; none where it is gone."""
    with contextlib.suppress(OSError):
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in listed.split()]
    return []


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _argv(process: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_text(errors="replace").split("\0")
    return [""]


def _mounts(name: str) -> list[str]:
    """The inner ones first."""
    ours = (f"/{name}/root", f"/{name}/disk")
    found = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [point for point in reversed(found) if point.endswith(ours)]


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
