"""Says how a process that we started with `spawn_daemon` ended, when it has."""

from __future__ import annotations

import os


def exit_code(pid: int) -> int | None:
    """The code of a child that ended, negative for a signal; None while it runs.

    A child is asked about until it ended, and not again: asking takes its record away.
    """
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None
