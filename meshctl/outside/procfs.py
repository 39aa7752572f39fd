"""Asks the kernel which processes there are, what they have open, and what they were told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_OF_SHELLS = ("PWD=", "OLDPWD=", "_=")
"""Variables that only say where somebody stands."""
_MAPPED = re.compile(r"^\S+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(/.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Process:
    """One process. `files` holds device and inode of all it has open or mapped, `mapped` the paths
    of the latter; both None where we may not look. `command` is its command line, a word a line,
    and `environ` its environment as it was started, a variable a line."""

    pid: int
    command: str
    environ: str
    files: frozenset[tuple[int, int]] | None
    mapped: frozenset[str] | None

    @property
    def shown(self) -> str:
        """`process 123 (llama-server)`, and nothing of its arguments: they may hold a secret."""
        name = self.command.partition("\n")[0].rpartition("/")[2]
        return f"process {self.pid} ({name or '?'})"


def processes(proc: Path = PROC) -> tuple[Process, ...] | None:
    """Every process but this one; the command lines of those that started it are left out, for they
    may name what we were asked about. None where the kernel tells nothing of processes."""
    if not (proc / "self").exists():
        return None
    ours = set(_ancestors(proc, os.getpid()))
    pids = sorted(int(name) for name in os.listdir(proc) if name.isdecimal())
    return tuple(
        found
        for pid in pids
        if pid != os.getpid() and (found := _process(proc, pid, silent=pid in ours)) is not None
    )


def _ancestors(proc: Path, pid: int) -> Iterator[int]:
    """This process, its parent, and so on."""
    while pid > 0:
        yield pid
        try:
            stat = (proc / str(pid) / "stat").read_text("utf-8", "replace")
        except OSError:
            return
        pid = int(stat.rpartition(")")[2].split()[1])


def _process(proc: Path, pid: int, *, silent: bool) -> Process | None:
    """None where it ended meanwhile, or is a thread of the kernel."""
    home = proc / str(pid)
    try:
        said = os.fsdecode((home / "cmdline").read_bytes()).replace("\0", "\n")
    except OSError:
        return None
    try:
        mapped = list(_mapped(os.fsdecode((home / "maps").read_bytes())))
        opened, environ = set(_opened(home)), _environ(home)
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:  # it is somebody else's
        return Process(pid, "" if silent else said, "", None, None)
    files = frozenset(opened | {identity for identity, _ in mapped})
    paths = frozenset(path for _, path in mapped)
    if silent:
        return Process(pid, "", "", files, paths)
    return Process(pid, said, environ, files, paths)


def _environ(home: Path) -> str:
    lines = os.fsdecode((home / "environ").read_bytes()).split("\0")
    return "\n".join(line for line in lines if not line.startswith(_OF_SHELLS))


def _opened(home: Path) -> Iterator[tuple[int, int]]:
    for descriptor in os.listdir(home / "fd"):
        try:
            found = os.stat(home / "fd" / descriptor)
        except OSError:  # closed meanwhile
            continue
        yield found.st_dev, found.st_ino


def _mapped(maps: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Some filesystems give other devices here than stat does: hence the path as well."""
    for major, minor, inode, path in _MAPPED.findall(maps):
        yield (os.makedev(int(major, 16), int(minor, 16)), int(inode)), path.replace("\\012", "\n")
