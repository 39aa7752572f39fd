"""Starts and stops the embedded cloud: one process per data folder, found again by endpoint.json.

Its contract: it holds a lock on the folder, exits 75 when another instance has it and 98 when its
port is taken, and writes endpoint.json once it answers.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.children import exit_code
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http, Request
from meshctl.outside.shell import spawn_daemon, terminate
from meshctl.outside.who import boot_id, process_start

WAIT_S = 15.0
POLL_S = 0.03
AGAIN_S = 0.25
SECOND_INSTANCE, PORT_TAKEN = 75, 98


@dataclass(frozen=True)
class Running:
    """A live embedded cloud."""

    url: str
    pid: int
    pid_start: int

    @property
    def alive(self) -> bool:
        return process_start(self.pid) == self.pid_start


@dataclass(frozen=True)
class Embedded:
    """The embedded cloud of one data folder."""

    data: Path
    clock: Clock
    http: Http
    environ: Mapping[str, str]

    @property
    def log(self) -> Path:
        return self.data / "emulator.log"

    def running(self) -> Running | None:
        """The live process of this folder; a file that a dead one left behind is none."""
        try:
            noted = json.loads((self.data / "endpoint.json").read_bytes())
            found = Running(noted["url"], noted["pid"], noted["pid_start"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if noted.get("boot_id") == boot_id() and found.alive else None

    def start(self, port: int | None = None) -> Running:
        """Start it unless it runs. Raises Refused for a port that is not to be had, Unreachable
        when it does not come up within 15 s."""
        running = self.running()
        if running is None:
            running = self._wait_for_start(self._spawn(port), port)
        if port and not running.url.endswith(f":{port}"):
            raise Refused(
                f"the embedded cloud runs already, at {running.url}",
                place=str(self.data),
                hint="stop it first: `meshctl emulator stop`",
            )
        return running

    def stop(self) -> None:
        """Stop it and wait until it is gone; none is fine. Raises MeshctlError when it stays."""
        running = self.running()
        if running is None:
            return
        self._ask(running, "/emulator/stop")
        if self._is_gone(running):
            return
        terminate(running.pid)
        if not self._is_gone(running):
            raise MeshctlError(
                f"the embedded cloud (pid {running.pid}) does not stop",
                place=str(self.log),
                hint=f"end it: `kill -9 {running.pid}`",
            )

    def reset(self) -> None:
        """Forget everything: by itself when it runs, by removing its folder when it does not."""
        running = self.running()
        if running:
            self._ask(running, "/emulator/reset", must=True)
        elif self.data.exists():
            shutil.rmtree(self.data)

    def _spawn(self, port: int | None) -> int:
        words = [sys.executable, "-m", "meshctl.emulator", "--data", str(self.data)]
        words += ["--port", str(port)] if port else []
        return spawn_daemon(words, log=self.log, environ=self.environ)

    def _wait_for_start(self, pid: int, port: int | None) -> Running:
        deadline = self.clock.monotonic() + WAIT_S
        while self.clock.monotonic() < deadline:
            running = self.running()
            if running:
                if running.pid != pid:
                    terminate(pid)  # ours came second; left alone it could outlive a stop
                return running
            code = exit_code(pid)
            if code == SECOND_INSTANCE:
                # Another one has the folder: it comes up in a moment, or is just stopping.
                self.clock.sleep(AGAIN_S)
                pid = pid if self.running() else self._spawn(port)
            elif code is not None:
                raise self._failed(code, port)
            self.clock.sleep(POLL_S)
        raise Unreachable(
            f"the embedded cloud did not come up within {WAIT_S:g} s: {self._last_line()}",
            place=str(self.log),
            hint="read the log",
        )

    def _failed(self, code: int, port: int | None) -> MeshctlError:
        if code == PORT_TAKEN:
            return Refused(
                f"port {port} is taken: {self._last_line()}",
                place=f"127.0.0.1:{port}",
                hint="give another --port, or none to have a free one",
            )
        return Unreachable(
            f"the embedded cloud ended with code {code}: {self._last_line()}",
            place=str(self.log),
            hint="read the log",
        )

    def _last_line(self) -> str:
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "no log")

    def _ask(self, running: Running, path: str, *, must: bool = False) -> None:
        """One request to it; when it need not succeed, a cloud that no longer answers is fine."""
        try:
            answer = self.http.send(Request(running.url + path, "POST"), timeout_s=WAIT_S)
        except Unreachable:
            if must:
                raise
            return
        if must and answer.status >= 300:
            raise Unreachable(
                f"the embedded cloud answered {answer.status} to {path}",
                place=running.url,
                hint=f"read {self.log}",
            )

    def _is_gone(self, running: Running) -> bool:
        deadline = self.clock.monotonic() + WAIT_S
        while running.alive and self.clock.monotonic() < deadline:
            self.clock.sleep(POLL_S)
        return not running.alive
