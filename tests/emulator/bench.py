"""A bench: one fleet file on the shared embedded cloud, the real meshctl, and a look past it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
FLEET = """
meshctl: 1
fleet: bench
targets:
  local: {kind: cloudrun, project: local, region: local1, emulator: EMULATOR}
images:
  small:
    repository: local1-docker.pkg.dev/local/bench/small
    tag: "v{n}"
    build: {config: recipe.yaml, context: context}
  other:
    repository: local1-docker.pkg.dev/local/bench/other
    tag: "v{n}"
    build: {config: recipe.yaml, context: context}
payloads: PAYLOADS
services:
"""
SERVICE: dict[str, Any] = {
    "target": "local",
    "image": "small",
    "args": ["mesh"],
    "access": "public",
    "env": {"MODE": "ok"},
    "models": {"small": {}},
    "checks": ["identity", "completion"],
    "rollout": {"token_deadline": "2s", "confirm": 1},
}


@dataclass(frozen=True)
class Result:
    """How one meshctl process ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


@dataclass
class Bench:
    """A fleet file in a folder of its own, with state of its own, on the shared cloud."""

    folder: Path
    url: str
    name: str
    services: dict[str, dict[str, Any]] = field(default_factory=dict)
    payloads: dict[str, Any] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "meshctl.yaml"

    def declare(self, key: str = "chat", **changes: Any) -> None:
        """Write the fleet file with these keys of a service changed."""
        name = self.name if key == "chat" else f"{self.name}-{key}"
        before = self.services.get(key, {**SERVICE, "name": name})
        self.services[key] = {**before, **changes}
        head = FLEET.replace("EMULATOR", self.url).replace("PAYLOADS", json.dumps(self.payloads))
        rows = [f"  {name}: {json.dumps(service)}" for name, service in self.services.items()]
        self.file.write_text("\n".join([head, *rows, ""]))

    def env(self, key: str = "chat", **values: str) -> None:
        """Change the environment of a service: another release."""
        self.declare(key, env={**self.services[key]["env"], **values})

    def meshctl(self, *words: str, **environ: str) -> Result:
        """Run the real process to its end, without a terminal."""
        done = subprocess.run(
            self._argv(words), capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **environ},
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str, code: int = 0, **environ: str) -> Any:
        """Run a command that must end with this code, and give its JSON."""
        result = self.meshctl("-o", "json", *words, **environ)
        assert result.code == code, f"{words}: {result.code}\n{result.out}\n{result.err}"
        return result.json

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """Start a process and come back at once; it is ended with the test."""
        self.known = self.runs()
        process = subprocess.Popen(
            self._argv(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.folder, env={**os.environ, **environ},
        )  # fmt: skip
        self.started.append(process)
        return process

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "meshctl", "-f", str(self.file), *words]

    def stop(self) -> None:
        """End whatever was started and still runs."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.communicate()

    def deploy(self, *words: str, code: int = 0) -> Any:
        return self.json("deploy", "-y", *words, code=code)

    def service(self, name: str | None = None) -> dict[str, Any] | None:
        """The service as the cloud shows it, or None: asked directly, not through meshctl."""
        path = f"/v2/projects/local/locations/local1/services/{name or self.name}"
        status, body = call(self.url, "GET", path)
        assert status in (200, 404), body
        return body if status == 200 else None

    def revisions(self) -> list[dict[str, Any]]:
        path = f"/v2/projects/local/locations/local1/services/{self.name}/revisions"
        return list(call(self.url, "GET", path)[1].get("revisions", []))

    def split(self) -> dict[str, int]:
        """Percents by revision, as they are in force."""
        service = self.service()
        assert service is not None
        rows = service.get("trafficStatuses", [])
        return {short(row): row["percent"] for row in rows if row.get("percent")}

    def tags(self) -> dict[str, str]:
        service = self.service()
        assert service is not None
        return {r["tag"]: short(r) for r in service.get("trafficStatuses", []) if r.get("tag")}

    def shift(self, shares: dict[str, int]) -> None:
        """Move traffic behind meshctl's back, as somebody with the console would."""
        kind = "TRAFFIC_TARGET_ALLOCATION_TYPE_"
        rows = [
            {"type": f"{kind}LATEST", "percent": percent}
            if revision == "LATEST"
            else {"type": f"{kind}REVISION", "revision": revision, "percent": percent}
            for revision, percent in shares.items()
        ]
        path = f"/v2/projects/local/locations/local1/services/{self.name}?updateMask=traffic"
        status, body = call(self.url, "PATCH", path, {"traffic": rows})
        assert status == 200, body
        until(lambda: "LATEST" in shares or self.split() == shares)

    def ask(self, url: str | None = None, model: str = "small") -> tuple[int, str]:
        """One completion as a client: status and text."""
        address = url or (self.service() or {})["uri"]
        messages = [{"role": "user", "content": "Count from 1 to 10."}]
        body = {"model": model, "messages": messages, "max_tokens": 8}
        status, answer = call(address, "POST", "/v1/chat/completions", body)
        return status, answer["choices"][0]["message"]["content"] if status == 200 else ""

    def release(self) -> str | None:
        """Which release answers on the service's own address."""
        service = self.service()
        assert service is not None
        with DIRECT.open(f"{service['uri']}/v1/models", timeout=10) as answer:
            return str(answer.headers["X-Mesh-Release"])

    def runs(self) -> list[str]:
        folder = self.folder / ".meshctl/state/runs"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def events(self, run: str) -> list[dict[str, Any]]:
        paths = sorted((self.folder / ".meshctl/state/runs" / run).glob("*.json"))
        return [json.loads(path.read_text()) for path in paths]

    def until_event(self, kind: str, step: str) -> None:
        """Wait until the run of the process that was started last has journalled this event."""

        def there() -> bool:
            events = [e for run in self.runs() if run not in self.known for e in self.events(run)]
            return any((e["kind"], e["step"]) == (kind, step) for e in events)

        until(there)


def short(row: dict[str, Any]) -> str:
    return str(row.get("revision", "LATEST")).rpartition("/")[2]


def call(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request past all proxies: status and JSON."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url + path, data=data, method=method, headers=headers)
    try:
        with DIRECT.open(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        with contextlib.suppress(ValueError):
            return error.code, json.loads(text)
        return error.code, text


def until(fact: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until a fact holds."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def end(process: subprocess.Popen[str], timeout_s: float = 40) -> Result:
    """Wait for a started process."""
    out, err = process.communicate(timeout=timeout_s)
    return Result(process.returncode, out, err)


@contextlib.contextmanager
def client(bench: Bench, every_s: float = 0.05, model: str = "small") -> Iterator[list[str]]:
    """Somebody who asks all the time; yields what went wrong, and it must stay empty."""
    wrong: list[str] = []
    done = threading.Event()
    url = (bench.service() or {})["uri"]

    def ask() -> None:
        while not done.wait(every_s):
            try:
                status, text = bench.ask(url, model)
                if (status, bool(text)) != (200, True):
                    wrong.append(f"{status} {text!r}")
            except OSError as error:
                wrong.append(repr(error))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield wrong
    finally:
        done.set()
        thread.join()


def calls_of(result: Result) -> list[str]:
    """The API calls that -v told of, without the names of what they were about."""
    return re.findall(r"^  \. (?:run|cloudbuild|storage) (\S+)", result.err, re.MULTILINE)
