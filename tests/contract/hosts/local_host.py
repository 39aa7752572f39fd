"""This machine as a host of user units: the real scripts in a real shell, and a small systemctl.

What systemd and podman themselves do is the lab's to prove; here it is what the scripts leave
behind, on any machine and without root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from meshctl.errors import Unreachable
from meshctl.outside.shell import Result
from meshctl.outside.ssh import Command

HERE = Path(__file__).parent
_PROGRAMS = {
    "systemctl": f'exec {sys.executable} {HERE / "systemctl.py"} "$@"',
    "loginctl": "echo yes",
    "journalctl": 'shift 2>/dev/null; cat "$HOME/.units/journal" 2>/dev/null; exit 0',
    "ss": "exit 0",
    "systemd-analyze": 'case "$1" in --help) exit 0;; esac; [ ! -e "$HOME/refuse" ] || '
    '{ echo "unit: Unknown key"; exit 1; }',
    "podman": "exit 127",
}


class LocalHost:
    """A door as HostTarget wants one. `cut` makes it unreachable."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.cut = False
        self.commands: list[Command] = []
        self.home.mkdir(parents=True)
        self.bin.mkdir()
        for name, text in _PROGRAMS.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o755)

    def run(self, address: str, command: Command) -> Result:
        if self.cut:
            raise Unreachable("the link is cut", place=address)
        self.commands.append(command)
        environ = {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.home),
        }
        done = subprocess.run(
            command.argv, input=command.input, capture_output=True, env=environ, cwd=self.home,
            timeout=60,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def forward(self, address: str, host: str, port: int) -> int:
        return port

    @property
    def units(self) -> Path:
        return self.home / ".config/systemd/user"

    @property
    def kept(self) -> Path:
        return self.home / ".local/share/meshctl/services"

    def calls(self) -> list[str]:
        """What systemctl was asked."""
        path = self.home / ".units/calls"
        return path.read_text().splitlines() if path.exists() else []

    def end(self) -> None:
        """Nothing that was started runs on."""
        for file in (self.home / ".units").glob("*.service.json"):
            subprocess.run(
                [self.bin / "systemctl", "--user", "stop", file.name.removesuffix(".json")],
                env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
                check=True,
            )
        shutil.rmtree(self.home)
