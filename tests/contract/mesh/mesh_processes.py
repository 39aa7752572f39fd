"""Starts meshes as processes, and says what becomes of them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

FAKE_ENGINE = Path(__file__).parents[2] / "fakes" / "fake_engine.py"
CHAT = "/v1/chat/completions"
SHA = "0" * 64


@dataclass
class Mesh:
    """One mesh process; `url` is open once it listens."""

    process: subprocess.Popen[bytes]
    url: str
    log_file: Path
    http: requests.Session = field(default_factory=requests.Session)

    def chat(self, **asked: Any) -> requests.Response:
        """One chat request; a stream is returned unread."""
        stream = bool(asked.get("stream"))
        body = {"messages": [{"role": "user", "content": "Say hello."}]} | asked
        return self.http.post(self.url + CHAT, json=body, stream=stream, timeout=30)

    def get(self, path: str) -> requests.Response:
        return self.http.get(self.url + path, timeout=30)

    def log(self) -> str:
        return self.log_file.read_text()

    def engines(self) -> list[int]:
        """Living children of the mesh."""
        return [pid for pid, parent in processes() if parent == self.process.pid]

    def send(self, number: signal.Signals) -> int:
        """Signals the mesh and returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=15)


def processes() -> Iterator[tuple[int, int]]:
    """(pid, parent) of what lives; a zombie does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            yield int(stat.parent.name), int(parent)


def wait_until(true: Callable[[], object], seconds: float = 10.0) -> None:
    """Fails when it does not become true in time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not true within {seconds} s"
        time.sleep(0.05)


def free_front_port() -> int:
    """Below the ephemeral range, so that no outgoing connection takes it in between."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def scripted(id: str = "scripted", *flags: str, **more: Any) -> dict[str, Any]:
    """A model entry served by the scripted engine."""
    command = [sys.executable, str(FAKE_ENGINE), "--port", "{port}", "--model", "{id}", *flags]
    return {"id": id, "engine": "generic", "command": command} | more


def environment(models: list[dict[str, Any]], **variables: str) -> dict[str, str]:
    """What a mesh needs; the proxy in it must be ignored. Scripted engines load at once, so a model
    just loaded need not stay."""
    return {
        "PATH": os.environ["PATH"],
        "http_proxy": "http://127.0.0.1:9",
        "MESH_MODELS": json.dumps(models),
        "MESH_RELEASE": "r-test",
        "MESH_MIN_RESIDENCY": "0s",
    } | variables


def spawn(log_file: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "meshctl.mesh", "serve"]
    with log_file.open("wb") as log:
        return subprocess.Popen(command, env=environ, stdout=log, stderr=log)


Launcher = Callable[..., Mesh]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def fails_with(log_file: Path, environ: dict[str, str]) -> tuple[int, str]:
    """Exit code and log of a mesh that ends by itself."""
    code = spawn(log_file, environ).wait(timeout=30)
    return code, log_file.read_text()


@dataclass(frozen=True)
class RealEngine:
    """The installed llama-server and SmolLM2, as the mesh wants them."""

    model: dict[str, Any]
    variables: dict[str, str]


def installed(distribution: str, ending: str) -> Path:
    """A file of an installed distribution; its absence is a failure, not a reason to skip."""
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.fail(f"{distribution} is not installed; `make .venv/.installed` does it")
    found = [file for file in files if str(file).endswith(ending)]
    assert found, f"{distribution} holds no *{ending}"
    return Path(str(found[0].locate())).resolve()
