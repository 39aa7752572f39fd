"""Child processes that die with the emulator, and the sweep of those that did not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from meshctl.emulator import disk

# Where setpriv is missing, a tiny wrapper asks for the same and becomes the program.
_WRAPPER = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
    "os.execvpe(sys.argv[1], sys.argv[1:], os.environ)"
)


def stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command name (state is [0]), None when gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def start_of(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat: clock ticks between boot and the start of the process."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else None


def boot_id() -> str:
    """The kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _dying_with_us(argv: list[str]) -> list[str]:
    setpriv = shutil.which("setpriv")
    if setpriv:
        return [setpriv, "--pdeathsig", "KILL", "--", *argv]
    return [sys.executable, "-c", _WRAPPER, *argv]


class Children:
    """Starts children in their own sessions and remembers them on disk for the next start."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._running: dict[int, dict[str, Any]] = {}

    async def start(
        self, argv: list[str], *, cwd: Path, env: dict[str, str], merge: bool = True
    ) -> asyncio.subprocess.Process:
        """Start a program; must run in the main thread, for PDEATHSIG follows the thread."""
        process = await asyncio.create_subprocess_exec(
            *_dying_with_us(argv),
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if merge else asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        entry = {"pid": process.pid, "start": start_of(process.pid), "boot": boot_id()}
        self._running[process.pid] = entry
        disk.write_json(self._file, list(self._running.values()))
        return process

    def forget(self, pid: int) -> None:
        """The process has ended: end what is left of its group too."""
        self._running.pop(pid, None)
        signal_group(pid, signal.SIGKILL)

    def sweep(self) -> int:
        """Kill what an earlier emulator left behind (grandchildren outlive PDEATHSIG)."""
        killed = 0
        for entry in disk.read_json(self._file, []):
            if entry["boot"] == boot_id():
                killed += _kill_session(entry["pid"], entry["start"])
        disk.write_json(self._file, [])
        return killed


def _kill_session(leader: int, start: int | None) -> int:
    """Kill the members of a session; a recycled leader number is left alone."""
    now = start_of(leader)
    if now is not None and now != start:
        return 0
    members = [p for p in _pids() if (f := stat_fields(p)) and int(f[3]) == leader]
    for pid in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return len(members)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal a process group; one that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


async def end(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """SIGTERM to the group, wait for the grace, SIGKILL."""
    if process.returncode is not None:
        return
    signal_group(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), grace_s)
    except TimeoutError:
        signal_group(process.pid, signal.SIGKILL)
        await process.wait()
