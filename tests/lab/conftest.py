"""A real host for the tests, as far as the lab goes: a machine that somebody booted by hand.

Any Debian 13 with systemd and podman will do that runs in namespaces of its own, such as one of
`systemd-nspawn --boot`. LAB_LEADER is the pid of its init, seen from here:

    LAB_LEADER=PID python -m pytest tests/lab
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from meshctl.outside.shell import Result

SPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
CLEAN = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")


@dataclass(frozen=True)
class Host:
    """One machine, entered as its root."""

    leader: int

    def run(self, argv: Sequence[str], *, input: bytes = b"") -> Result:
        """One command there. Bytes that are no text survive in `out` as surrogates."""
        enter = ("nsenter", f"--target={self.leader}", *SPACES, "--wd=/", "--", *CLEAN)
        done = subprocess.run([*enter, *argv], input=input, capture_output=True, timeout=120)
        out = done.stdout.decode(errors="surrogateescape")
        return Result(done.returncode, out, done.stderr.decode(errors="replace"))


@pytest.fixture(scope="session")
def host() -> Host:
    """Skipped where there is none: the lab does not boot machines by itself yet."""
    leader = os.environ.get("LAB_LEADER", "")
    if not leader.isdigit():
        pytest.skip("no machine was booted for the lab: LAB_LEADER names the pid of its init")
    if os.getuid() != 0 or shutil.which("nsenter") is None:
        pytest.skip("entering a machine takes root and nsenter")
    return Host(int(leader))
