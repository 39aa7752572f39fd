"""The proxies that are measured, each as a process on a core of its own before one null engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CORES = sorted(os.sched_getaffinity(0))
PROXY_CORE, OTHER_CORE = CORES[0], CORES[-1]
"""Client and engine share the other core; on one core alone nothing here means anything."""
START_S = 120.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Subject:
    """A proxy that runs: its port, and the process whose time counts."""

    name: str
    port: int
    pid: int

    def cpu_s(self) -> float:
        """What its process has spent so far, in steps of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_S

    def resident_bytes(self) -> int:
        """Its memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) * 1024


def on_core(core: int, command: list[str]) -> list[str]:
    """Pinned, where the machine can do that."""
    return ["taskset", "-c", str(core), *command] if shutil.which("taskset") else command


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: list[str], core: int, port: int, environ: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, once it listens; it is ended with all that it started."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            on_core(core, command), env=environ, stdout=file, stderr=file, start_new_session=True
        )
    try:
        end = time.monotonic() + START_S
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[:4]} does not listen:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Rig:
    """One null engine, and proxies before it; all end with the context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends = ExitStack()
        self.upstream = 0

    def __enter__(self) -> Rig:
        self.upstream = free_port()
        command = [sys.executable, str(HERE / "upstream.py"), str(self.upstream)]
        self._start("engine", command, OTHER_CORE, self.upstream, {})
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def own(self, program: str) -> Subject:
        """`splice` or `relay`."""
        port = free_port()
        command = [sys.executable, str(HERE / f"{program}.py"), str(port), str(self.upstream)]
        return self._start(program, command, PROXY_CORE, port, {})

    def mesh(
        self,
        name: str = "mesh",
        models: Sequence[str] = ("null", "silent"),
        *,
        together: bool = True,
        **variables: str,
    ) -> Subject:
        """A mesh with null engines of its own; the model `silent` never answers."""
        port = free_port()
        engine = on_core(OTHER_CORE, [sys.executable, str(HERE / "upstream.py"), "{port}"])
        entry = {"engine": "generic", "command": engine, "parallel": 256}
        entry |= {"sets": ["all"]} if together else {}
        known = [entry | {"id": model, "default": model == models[0]} for model in models]
        own = {"MESH_MODELS": json.dumps(known), "MESH_LOG": "error", "PORT": str(port)}
        own |= {"MESH_QUEUE": "2000"}
        command = [sys.executable, "-m", "meshctl.mesh", "serve"]
        return self._start(name, command, PROXY_CORE, port, own | variables)

    def litellm(self, bin: Path) -> Subject:
        """LiteLLM's proxy with one worker, its logging off."""
        port, config = free_port(), self._folder / "litellm.yaml"
        config.write_text(
            "model_list:\n- model_name: 'null'\n  litellm_params: {model: openai/null, api_key: x,"
            f" api_base: 'http://127.0.0.1:{self.upstream}/v1'}}\n"
            "litellm_settings: {telemetry: false}\n"
        )
        command = [str(bin / "litellm"), "--config", str(config), "--port", str(port)]
        command += ["--host", "127.0.0.1", "--num_workers", "1"]
        # It has no key here as the others have none, which it must be told is meant.
        open_door = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
        return self._start(
            "litellm", command, PROXY_CORE, port, open_door | {"LITELLM_LOG": "ERROR"}
        )

    def vllm_router(self, bin: Path) -> Subject:
        """vllm-router with one worker behind it, retries and all as it comes."""
        port = free_port()
        command = [str(bin / "vllm-router"), "--host", "127.0.0.1", "--port", str(port)]
        command += ["--worker-urls", f"http://127.0.0.1:{self.upstream}", "--policy", "round_robin"]
        command += ["--log-level", "error", "--prometheus-port", str(free_port())]
        return self._start("vllm-router", command, PROXY_CORE, port, {})

    def _start(
        self, name: str, command: list[str], core: int, port: int, environ: Mapping[str, str]
    ) -> Subject:
        whole = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "PYTHONPATH": str(ROOT)}
        log = self._folder / f"{name}.log"
        process = self._ends.enter_context(running(command, core, port, whole | environ, log))
        return Subject(name, port, process.pid)


RIVALS: dict[str, Callable[[Rig, Path], Subject]] = {
    "litellm": Rig.litellm,
    "vllm-router": Rig.vllm_router,
}
