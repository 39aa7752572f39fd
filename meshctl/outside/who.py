"""Says who is asking: the person, the machine, the process, and whether one still lives."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Who:
    """One running meshctl, told apart from every other one, also after a reboot.

    `boot` is the kernel's boot and the PID namespace in it, for in another one the same number is
    another process; empty where either is unknown.
    """

    person: str
    host: str
    boot: str
    pid: int
    pid_start: int

    @property
    def name(self) -> str:
        """`PERSON@HOST`, for the record."""
        return f"{self.person}@{self.host}"

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


def myself() -> Who:
    """This process."""
    pid = os.getpid()
    return Who(_person(), socket.gethostname(), pid_world(), pid, process_start(pid) or 0)


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container user without a name
        return f"uid{os.getuid()}"


def boot_id() -> str:
    """Identifies this boot of this machine; empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_world() -> str:
    """Where process numbers mean what they mean here: this boot and this PID namespace.

    Containers of one machine may share host name and boot. Empty where the kernel does not say.
    """
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    boot = boot_id()
    return f"{boot} {namespace}" if boot else ""


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when it is gone or a zombie.

    Some containers' PID 1 does not reap, so a signal 0 would call a zombie alive.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def is_dead(who: Who) -> bool:
    """Whether that process is surely gone: known only for a process of this host, this boot and
    this PID namespace, and only where the kernel tells of processes at all."""
    if not who.boot or not who.pid_start:
        return False
    here = (socket.gethostname(), pid_world())
    return (who.host, who.boot) == here and process_start(who.pid) != who.pid_start
