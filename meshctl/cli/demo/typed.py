"""Runs one `meshctl` command as a process of its own, exactly as a user types it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from meshctl.cli.demo.stage import Stage
from meshctl.outside.children import exit_code
from meshctl.outside.shell import spawn_daemon, terminate

POLL_S = 0.05

Watch = Callable[[], bool]
"""Asked again and again while the command runs; true means: kill it now, without warning."""


def never() -> bool:
    """Lets the command come to its end."""
    return False


def typed(stage: Stage, words: Sequence[str], watch: Watch = never) -> tuple[int, list[str]]:
    """The exit code as a shell says it, and the lines it printed on both streams.

    Whatever ends us ends it, too, at once: all that it could put in order is about to be removed.
    Raises Interrupted when we are asked to stop.
    """
    log = stage.folder.log(next(stage.numbers))
    argv = [sys.executable, "-m", "meshctl", *words]
    pid = spawn_daemon(argv, log=log, environ=stage.environ)
    try:
        code, killed = _wait(stage, pid, log, watch)
    except BaseException:
        _kill(stage, pid)
        raise
    return code if code >= 0 else 128 - code, [*lines_of(log), *killed]


def _wait(stage: Stage, pid: int, log: Path, watch: Watch) -> tuple[int, list[str]]:
    told = ""
    while (code := exit_code(pid)) is None:
        stage.interrupts.check()
        if watch():
            return _kill(stage, pid), [f"$ kill -9 {pid}"]
        last = next((line.strip() for line in reversed(lines_of(log)) if line.strip()), "starting")
        if last != told:
            stage.output.progress(told := last)
        stage.clock.sleep(POLL_S)
    return code, []


def _kill(stage: Stage, pid: int) -> int:
    """End it at once, wait until it is gone, and say how it ended."""
    terminate(pid, hard=True)
    while (code := exit_code(pid)) is None:
        stage.clock.sleep(POLL_S)
    return code


def lines_of(log: Path) -> list[str]:
    """The lines of a text that is still being written."""
    return log.read_text(encoding="utf-8", errors="replace").split("\n")
