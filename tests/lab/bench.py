"""A fleet of one service on a machine of the lab, and meshctl as a person runs it there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.conftest import ssh_config
from tests.lab.machine import Machine

FAKES = Path(__file__).parents[1] / "fakes"
ENGINE = "/opt/fake_engine.py"
PATIENCE_S = 120.0
_FLEET = """\
meshctl: 1
fleet: lab
targets: {attic: {kind: podman, address: %(host)s}}
images: {none: {ref: "host/none@sha256:%(digest)s"}}
services:
  %(name)s:
    target: attic
    image: none
    runtime: exec
    command: [/usr/bin/python3, %(engine)s]
    args: [--port, "%(port)d", --model, small, %(args)s]
    port: %(port)d
    models: {small: {}}
    rollout: {token_deadline: 4s, confirm: 1}
"""


@dataclass(frozen=True)
class Done:
    """How a command ended, and the document it printed."""

    code: int
    told: dict[str, Any]
    err: str


class Bench:
    """One service named `name` on a port of its own; `args` are its engine's."""

    def __init__(self, folder: Path, machine: Machine, name: str, port: int) -> None:
        self.folder, self.machine, self.name, self.port = folder, machine, name, port
        self.refresh()
        engine = (FAKES / "fake_engine.py").read_bytes()
        machine.put(ENGINE, engine)

    def refresh(self) -> None:
        """The keys that the machine has now: a new disk has new ones."""
        self.config = ssh_config(self.folder, (self.machine,))

    def wants(self, *args: str) -> None:
        """The fleet file from now on."""
        digest, words = "1" * 64, ", ".join(json.dumps(arg) for arg in args)
        given = {"host": self.machine.name, "digest": digest, "name": self.name,
                 "port": self.port, "args": words, "engine": ENGINE}  # fmt: skip
        (self.folder / "meshctl.yaml").write_text(_FLEET % given)

    def start(self, *words: str, state: str = "", **environ: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "meshctl", *words, "-o", "json"]
        given = {"MESHCTL_SSH_CONFIG": str(self.config)} | environ
        if state:
            given["MESHCTL_STATE"] = state
        return subprocess.Popen(
            command, cwd=self.folder, env=os.environ | given, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def meshctl(self, *words: str, state: str = "", **environ: str) -> Done:
        return ended(self.start(*words, state=state, **environ))

    def deploy(self, *args: str, **environ: str) -> Done:
        """The fleet file wants an engine with these arguments; deployed."""
        self.wants(*args)
        return self.meshctl("deploy", self.name, "-y", **environ)

    def serving(self) -> str:
        """The reply of whoever serves, or what keeps it from one: asked on the machine itself."""
        body = json.dumps({"model": "small", "messages": [{"role": "user", "content": "hi"}]})
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        done = self.machine.run(["curl", "-sS", "-m", "10", "-d", body, url])
        found = re.search(r'"content": ?"([^"]*)"', done.out)
        return found[1] if found else f"none: {done.err.strip() or done.out}"

    def unit(self) -> str:
        """Active, failed or the like, as systemd says."""
        return self.machine.run(["systemctl", "is-active", f"{self.name}.service"]).out.strip()

    def clear(self) -> None:
        """Nothing of the service is on the machine any more, and no journal of it here."""
        self.machine.run(["systemctl", "disable", "--now", f"{self.name}.service"])
        gone = f"/etc/systemd/system/{self.name}.service /var/lib/meshctl/services/{self.name}"
        self.machine.out("sh", "-c", f"rm -rf {gone}; systemctl daemon-reload")
        subprocess.run(["rm", "-rf", str(self.folder / ".meshctl")], check=True)


def ended(process: subprocess.Popen[str]) -> Done:
    """Waited for; what it printed last is its document, where it printed one."""
    out, err = process.communicate(timeout=PATIENCE_S)
    told = json.loads(out) if out.strip() else {}
    return Done(process.returncode, told, err)


def until(true: Callable[[], bool], what: str) -> None:
    """Raises AssertionError where it does not come true in time."""
    limit = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < limit, f"in vain: {what}"
        time.sleep(0.1)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
