"""One running container: a process that listens on a port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meshctl.emulator import ports, spawn
from meshctl.emulator.logging.entries import STDERR, STDOUT, Entries
from meshctl.emulator.logging.output import Output
from meshctl.emulator.serve import logs, probe
from meshctl.emulator.serve.launch import CannotStart, Launch
from meshctl.emulator.settings import Settings

_TAIL_BYTES = 8192


class Host:
    """What all instances share: settings, children, folders and the metadata address."""

    def __init__(
        self, data: Path, settings: Settings, children: spawn.Children, metadata_host: str
    ) -> None:
        self.settings, self.children, self.metadata_host = settings, children, metadata_host
        self.logs, self.home, self.mounts = data / "logs", data / "home", data / "mounts"
        self.entries = Entries(self.logs / "entries", settings.log_limit_bytes)
        self.home.mkdir(parents=True, exist_ok=True)


class Instance:
    """A process of a revision with its port, its requests in flight and its last use."""

    def __init__(self, launch: Launch, host: Host) -> None:
        self.launch, self._host = launch, host
        self.port = ports.ephemeral()
        self.in_flight = 0
        self.used_at = asyncio.get_running_loop().time()
        self.gone = asyncio.Event()
        self.quiet = asyncio.Event()
        self.quiet.set()
        self._tail = b""
        self._stopped = False
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def start(self, on_gone: Callable[[Instance], None]) -> None:
        """Start the process and wait until its probe succeeds; CannotStart otherwise."""
        host, launch = self._host, self.launch
        env = launch.environment(self.port, host.metadata_host, host.home)
        try:
            self._process = await host.children.start(
                list(launch.argv), cwd=launch.cwd, env=env, merge=False
            )
        except OSError as err:
            raise CannotStart(f"The container could not be started: {err.strerror}.") from err
        self._watcher = asyncio.create_task(self._watch(self._process, on_gone))
        try:
            await self._until_ready()
        except BaseException:
            await self.kill()
            raise

    async def _until_ready(self) -> None:
        cap = self._host.settings.startup_budget_seconds
        asking = asyncio.create_task(probe.until_ready(self.launch.probe, self.port, cap))
        dying = asyncio.create_task(self.gone.wait())
        try:
            await asyncio.wait({asking, dying}, return_when=asyncio.FIRST_COMPLETED)
            if dying.done() or not asking.result():
                raise CannotStart(self._never_ready())
        finally:
            asking.cancel()
            dying.cancel()

    def _never_ready(self) -> str:
        """facts s5: the wording since 2025; the same text for an exit at start."""
        text = (
            "The user-provided container failed to start and listen on the port defined provided "
            f"by the PORT={self.launch.declared_port} environment variable within the allocated "
            "timeout. This can happen when the container port is misconfigured or if the timeout "
            "is too short. The health check timeout can be extended. Logs for this revision might "
            f"contain more information.\n\nLogs URL: file://{self._host.logs}/"
            f"{self.launch.origin.revision}.log"
        )
        code = self._process.returncode if self._process else None
        if self.gone.is_set() and code is not None:
            text += f"\nContainer called exit({code})."
        last = logs.tail(self._tail, self._host.settings.log_quote_lines)
        return text + (f"\nLast output:\n{last}" if last else "")

    async def _watch(
        self, process: asyncio.subprocess.Process, on_gone: Callable[[Instance], None]
    ) -> None:
        """Copy the output to the log until the process ends; then say so."""
        host, origin = self._host, self.launch.origin
        log = logs.RevisionLog(host.logs, origin.revision, host.settings.log_limit_bytes)
        output = Output(host.entries, origin)
        streams = ((STDOUT, process.stdout), (STDERR, process.stderr))
        copying = {asyncio.create_task(self._copy(*s, log, output)) for s in streams}
        await process.wait()
        # A grandchild may hold the pipes open: give the copies a moment, then end the group.
        await asyncio.wait(copying, timeout=0.2)
        host.children.forget(process.pid)
        await asyncio.wait(copying, timeout=1.0)
        for task in copying:
            task.cancel()
        output.end(process.returncode if process.returncode and not self._stopped else None)
        self.gone.set()
        on_gone(self)

    async def _copy(self, name: str, stream: Any, log: logs.RevisionLog, output: Output) -> None:
        while data := await stream.read(65536):
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            log.append(data)
            output.feed(name, data)

    @property
    def serving(self) -> bool:
        """Whether requests may go to it."""
        return not self.gone.is_set()

    def take(self) -> None:
        """A request begins."""
        self.in_flight += 1
        self.quiet.clear()

    def give(self) -> None:
        """A request has ended."""
        self.in_flight -= 1
        self.used_at = asyncio.get_running_loop().time()
        if self.in_flight == 0:
            self.quiet.set()

    async def drain(self, limit_s: float) -> None:
        """Let requests in flight finish (up to the limit), then stop the process."""
        if self.in_flight:
            waits = {asyncio.create_task(e.wait()) for e in (self.quiet, self.gone)}
            await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
        await self.stop(self._host.settings.stop_grace_seconds)

    async def stop(self, grace_s: float) -> None:
        """SIGTERM, the grace (facts s5: 10 s in the cloud), SIGKILL; returns when it is gone."""
        self._stopped = True
        if self._process is not None:
            await spawn.end(self._process, grace_s)
        if self._watcher is not None:
            await asyncio.shield(self._watcher)

    async def kill(self) -> None:
        """Stop at once: it never served."""
        await self.stop(0)
