"""Runs processes: to the end with a result, or as a daemon that outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from meshctl.errors import UsageError


@dataclass(frozen=True)
class Result:
    """How a process ended."""

    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0


class Shell(Protocol):
    """Runs one command line somewhere and waits for it."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> Result: ...


class LocalShell:
    """This machine. No shell is involved: the words reach the program as they are."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> Result:
        """Raises UsageError when the program is missing; code 124 when it ran past its time."""
        try:
            done = subprocess.run(
                list(argv), capture_output=True, text=True, timeout=timeout_s, errors="replace"
            )
        except FileNotFoundError as missing:
            raise UsageError(f"{argv[0]}: no such program", hint="install it") from missing
        except subprocess.TimeoutExpired:
            return Result(124, "", f"{argv[0]} did not end within {timeout_s:g} s")
        return Result(done.returncode, done.stdout, done.stderr)


def spawn_daemon(argv: Sequence[str], *, log: Path, environ: Mapping[str, str]) -> int:
    """Start a process of its own session that outlives us; its output goes to `log`. Its pid.

    Its own session, because Ctrl-C in a terminal reaches the whole foreground group.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env=dict(environ),
            start_new_session=True,
        )
    # The interpreter warns about a child nobody waited for; this one is meant to outlive us.
    child.returncode = 0
    return child.pid


def terminate(pid: int, *, hard: bool = False) -> None:
    """Ask a process to end, or end it; one that is gone already is fine."""
    try:
        os.kill(pid, signal.SIGKILL if hard else signal.SIGTERM)
    except ProcessLookupError:
        return
