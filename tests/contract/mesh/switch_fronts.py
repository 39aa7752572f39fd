"""Backends as processes of their own, and a front before them that is told over its socket."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from meshctl.errors import Unreachable
from meshctl.outside.clock import SystemClock
from meshctl.outside.switch import Front, Lost, UnixDoor
from meshctl.spec.switch import Backend, Outcome, SwitchOrder
from tests.contract.mesh.engines import PREFILLING, SAYING, program
from tests.contract.mesh.mesh_processes import (
    FAKE_ENGINE,
    Launcher,
    Mesh,
    free_front_port,
    listens,
    wait_until,
)

MODEL = "m"
MANY = {"MESH_PROXY_CONNECT_RETRIES": "100", "MESH_PROXY_CONNECT_BACKOFF_MS": "300"}


@dataclass(frozen=True)
class Engine:
    """One engine that says who it is, word by word."""

    name: str
    port: int

    @property
    def says(self) -> str:
        return says(self.name)

    def backend(self, **more: Any) -> Backend:
        url = f"http://127.0.0.1:{self.port}"
        return Backend(name=self.name, url=url, models=(MODEL,), **more)


def says(name: str) -> str:
    return f"I am {name} and all of {name}"


@contextmanager
def engine(name: str, *flags: str, port: int = 0) -> Iterator[Engine]:
    """An engine that listens; it is killed in the end. Its port is none that an outgoing connection
    could get, for the front goes on asking there when it is dead."""
    port = port or free_front_port()
    command = [str(FAKE_ENGINE), "--port", str(port), "--reply", says(name), *flags]
    with _running(name, port, command) as found:
        yield found


@contextmanager
def gated(name: str, gate: Path) -> Iterator[Engine]:
    """An engine without a health page; its streams say "word two" when the file is there."""
    port = free_front_port()
    with _running(name, port, ["-c", program(PREFILLING), str(port), str(gate)]) as found:
        yield found


@contextmanager
def saying(name: str, record: Path) -> Iterator[Engine]:
    """An engine without a health page that says what each request tells it to."""
    port = free_front_port()
    with _running(name, port, ["-c", program(SAYING), str(port), str(record)]) as found:
        yield found


@contextmanager
def _running(name: str, port: int, arguments: list[str]) -> Iterator[Engine]:
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: listens(port) or process.poll() is not None, 30)
            assert process.poll() is None
            yield Engine(name, port)
        finally:
            process.kill()


class Fronted:
    """One front: its mesh, which may be started again, and the door to its socket."""

    def __init__(
        self, launch: Launcher, folder: Path, *models: dict[str, Any], **variables: str
    ) -> None:
        self.socket = folder / "admin.sock"
        self.file = folder / "switch.json"
        self._launch = launch
        self._models = list(models)
        self._variables = variables | {
            "PORT": str(free_front_port()),
            "MESH_ADMIN_SOCKET": str(self.socket),
            "MESH_SWITCH_FILE": str(self.file),
        }
        self.ask = Front(UnixDoor(str(self.socket)), SystemClock())
        self.mesh: Mesh = launch(self._models, **self._variables)

    def again(self) -> None:
        """A mesh in the place of the one that ended."""
        self.mesh = self._launch(self._models, **self._variables)

    def serve(self, *engines: Engine, check: bool = True) -> None:
        """These are known, and the first of them is active."""
        for each in engines:
            self.ask.add(each.backend())
        first = engines[0].name
        assert self.switch(f"first-{first}", first, check=check).outcome == "switched"

    def switch(self, operation: str, to: str, **more: Any) -> Outcome:
        return self.ask.switch(order(operation, to, **more))

    def answers(self) -> tuple[int, str]:
        """Status and text of one whole answer, asked on a connection of its own."""
        with requests.Session() as http:
            http.trust_env = False
            body = {"model": MODEL, "messages": [{"role": "user", "content": "Who?"}]}
            answer = http.post(f"{self.mesh.url}/v1/chat/completions", json=body, timeout=60)
        if answer.status_code != 200:
            return answer.status_code, answer.json()["error"]["code"]
        return 200, str(answer.json()["choices"][0]["message"]["content"])


def order(operation: str, to: str, **more: Any) -> SwitchOrder:
    waits = {"check_at_most": 60.0, "hold_at_most": 60.0, "drain_at_most": 60.0}
    return SwitchOrder(operation=operation, to=to, **(waits | more))


@dataclass
class Ordered:
    """A switch that is under way while a test does other things."""

    front: Fronted
    order: SwitchOrder
    outcome: Outcome | None = None
    error: Exception | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self.front.ask.switch(self.order)
        except Exception as error:
            self.error = error

    def ended_or_never_came(self) -> Outcome | None:
        """None where the order certainly did not arrive."""
        self.thread.join(90)
        never = isinstance(self.error, Unreachable) and not isinstance(self.error, Lost)
        return None if never else self.ended()

    def ended(self) -> Outcome:
        self.thread.join(90)
        assert self.outcome, self.error
        return self.outcome
