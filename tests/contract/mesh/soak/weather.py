"""Bad weather for a mesh: its engines are killed, and its peer comes and goes."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tests.contract.mesh.mesh_processes import Mesh


@dataclass
class Storms:
    """How often it struck."""

    killed: int = 0
    flapped: int = 0


async def kill_engines(mesh: Mesh, chance: random.Random, storms: Storms) -> None:
    """SIGKILL for the engine that is there, every few seconds, for ever."""
    while True:
        await asyncio.sleep(chance.uniform(2, 8))
        for engine in mesh.engines():
            with suppress(ProcessLookupError):
                os.kill(engine, signal.SIGKILL)
                storms.killed += 1


class Peer:
    """A mesh on one port, which can go and come back."""

    def __init__(self, spawn: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._spawn = spawn
        self.process = spawn()

    async def flap(self, chance: random.Random, storms: Storms) -> None:
        """Away for some seconds, with or without saying so, for ever."""
        while True:
            await asyncio.sleep(chance.uniform(5, 12))
            self.process.send_signal(chance.choice((signal.SIGTERM, signal.SIGKILL)))
            await asyncio.to_thread(self.process.wait, 30)
            storms.flapped += 1
            await asyncio.sleep(chance.uniform(0, 4))
            self.process = self._spawn()

    def here(self) -> None:
        """Brings it back, if it is away."""
        if self.process.poll() is not None:
            self.process = self._spawn()

    def end(self) -> None:
        """Ends it, and waits for that."""
        self.process.terminate()
        self.process.wait(30)
