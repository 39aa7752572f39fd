"""A running embedded cloud, the real clients on it, and a tiny image that answers its release."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from google.api_core.client_options import ClientOptions
from google.api_core.future import polling
from google.auth.credentials import AnonymousCredentials
from google.cloud import run_v2, storage
from google.cloud.devtools import cloudbuild_v1

PARENT = "projects/p/locations/l"
FAST = polling.DEFAULT_POLLING.with_delay(initial=0.05, maximum=0.2)
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

APP = """#!/usr/bin/env python3
import os, sys, time, json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
mode = os.environ.get("MODE", "")
if mode == "exit":
    print("the engine is out of memory", flush=True)
    sys.exit(3)
if mode == "silent":
    time.sleep(60)
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        if self.path.startswith("/sleep/"):
            time.sleep(float(self.path.split("/")[2]))
        if self.path == "/die":
            os._exit(1)
        if self.path == "/sse":
            return self.stream()
        body = json.dumps({"release": os.environ.get("RELEASE", ""), "pid": os.getpid(),
            "revision": os.environ["K_REVISION"], "env": dict(os.environ),
            "args": sys.argv[1:], "cwd": os.getcwd(), "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        size = int(self.headers["Content-Length"])
        total = 0
        while total < size:
            total += len(self.rfile.read(min(65536, size - total)))
        body = str(total).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for n in range(3):
            chunk = f"data: {n}\\n\\n".encode()
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(chunk), chunk))
            self.wfile.flush()
            time.sleep(0.3)
        self.wfile.write(b"0\\r\\n\\r\\n")
ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
DOCKERFILE = """# The tiny image
FROM scratch
WORKDIR /srv
COPY app.py /srv/app.py
ENV FROM_IMAGE=yes
ENTRYPOINT ["/srv/app.py"]
CMD ["from-cmd"]
"""
QUICK = {
    "startup_budget_seconds": 4.0,
    "stop_grace_seconds": 2.0,
    "seed": 7,
    "shutdown_drain_seconds": 1.0,
    "queue_seconds": 1.0,
    "secrets": {"hub": {"3": "s3cret"}},
}


class Cloud:
    """One emulator process on a folder, and everything a test asks of it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, *more: str, **settings: Any) -> Cloud:
        file = self.data.parent / "settings.json"
        file.write_text(json.dumps(QUICK | settings))
        argv = [sys.executable, "-m", "meshctl.emulator", "--data", str(self.data)]
        self.process = subprocess.Popen([*argv, "--settings", str(file), *more])
        endpoint = self.data / "endpoint.json"
        deadline = time.monotonic() + 15
        while not endpoint.exists() or json.loads(endpoint.read_text())["pid"] != self.process.pid:
            assert self.process.poll() is None, "the emulator did not start"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.url = json.loads(endpoint.read_text())["url"]
        options = {"client_options": ClientOptions(api_endpoint=self.url)}
        options["credentials"] = AnonymousCredentials()
        self.services = run_v2.ServicesClient(transport="rest", **options)
        self.revisions = run_v2.RevisionsClient(transport="rest", **options)
        self.builds = cloudbuild_v1.CloudBuildClient(transport="rest", **options)
        self.storage = storage.Client(project="p", **options)
        return self

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(20)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """An answer of the emulator's own API: status and JSON."""
        data = None if body is None else json.dumps(body).encode()
        status, _, text = fetch(self.url + path, method=method, data=data)
        return status, json.loads(text or "null")

    # -- builds

    def source(self, files: dict[str, Any], name: str = "ctx.tgz") -> Any:
        bucket = self.storage.bucket("src")
        if not bucket.exists():
            self.storage.create_bucket("src")
        blob = bucket.blob(name)
        blob.upload_from_string(tarball(files), retry=None)
        return cloudbuild_v1.Source(
            storage_source=cloudbuild_v1.StorageSource(
                bucket="src", object_=name, generation=blob.generation
            )
        )

    def build(self, tag: str, files: dict[str, Any] | None = None, **fields: Any) -> Any:
        files = files or {"app.py": APP, "Dockerfile": DOCKERFILE}
        step = cloudbuild_v1.BuildStep(
            name="gcr.io/cloud-builders/docker", args=["build", "-t", tag, "."]
        )
        fields = {"steps": [step], "images": [tag]} | fields
        build = cloudbuild_v1.Build(source=self.source(files), **fields)
        return self.submit(build)

    def submit(self, build: Any) -> Any:
        return wait(self.builds.create_build(project_id="p", build=build, retry=None))

    # -- services

    def template(self, release: str = "a", **fields: Any) -> Any:
        env = [run_v2.EnvVar(name="RELEASE", value=release)]
        env += [run_v2.EnvVar(name=k, value=v) for k, v in fields.pop("env", {}).items()]
        container = run_v2.Container(
            image=fields.pop("image", "repo/app:v1"), env=env, **fields.pop("container", {})
        )
        return run_v2.RevisionTemplate(containers=[container], **fields)

    def create(self, name: str, template: Any = None, **fields: Any) -> Any:
        public = fields.pop("public", True)
        service = run_v2.Service(template=template or self.template(), **fields)
        service.invoker_iam_disabled = public
        request = run_v2.CreateServiceRequest(parent=PARENT, service=service, service_id=name)
        return wait(self.services.create_service(request, retry=None))

    def update(self, service: Any, mask: str, **fields: Any) -> Any:
        request = run_v2.UpdateServiceRequest(service=service, update_mask=mask, **fields)
        return wait(self.services.update_service(request, retry=None))

    def get(self, name: str) -> Any:
        return self.services.get_service(name=f"{PARENT}/services/{name}", retry=None)

    def delete(self, name: str) -> None:
        wait(self.services.delete_service(name=f"{PARENT}/services/{name}", retry=None))


def wait(operation: Any) -> Any:
    """The operation's result, polled fast."""
    return operation.result(timeout=30, polling=FAST)


def fetch(
    url: str,
    method: str = "GET",
    data: Any = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any, bytes]:
    """Status, headers and body, whatever the status; proxies of the environment are not used."""
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with DIRECT.open(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as err:
        return err.code, err.headers, err.read()


def ask(url: str, path: str = "/", **more: Any) -> dict[str, Any]:
    """What the tiny image answers."""
    status, _, body = fetch(url + path, **more)
    assert status == 200, (status, body)
    return json.loads(body)


def tarball(files: dict[str, Any]) -> bytes:
    """A gzipped tar of texts; a tuple ("link", NAME) is a hard link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755 if name.endswith(".py") else 0o644
            if isinstance(content, tuple):
                info.type, info.linkname = tarfile.LNKTYPE, content[1]
                tar.addfile(info)
            else:
                data = content if isinstance(content, bytes) else content.encode()
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One emulator for all tests that leave each other alone, with repo/app:v1 built."""
    cloud = Cloud(tmp_path_factory.mktemp("cloud") / "data").start()
    cloud.build("repo/app:v1")
    yield cloud
    assert cloud.stop() == 0


@pytest.fixture
def cloud(shared: Cloud) -> Any:
    """The shared emulator; its services are deleted after the test."""
    yield shared
    shared.call("DELETE", "/emulator/faults")
    for service in shared.services.list_services(parent=PARENT, retry=None):
        shared.delete(service.name.split("/")[-1])


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """An emulator of one's own, for tests that stop it."""
    cloud = Cloud(tmp_path / "data")
    yield cloud
    if cloud.process is not None:
        cloud.stop()


def eventually(fact: Any, seconds: float = 5.0) -> None:
    """Wait until a fact holds."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
