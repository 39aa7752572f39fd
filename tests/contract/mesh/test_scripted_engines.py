"""Whatever an engine does wrong, a client of the mesh is told, and never fooled."""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.contract.mesh.mesh_processes import (
    CHAT,
    Launcher,
    Mesh,
    environment,
    fails_with,
    free_front_port,
    scripted,
    spawn,
    wait_until,
)


@pytest.fixture(scope="module")
def mesh(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Mesh:
    """A mesh with one engine per mode; all but the default start on first use."""
    record = tmp_path_factory.mktemp("record") / "record"
    mesh = launch(
        [
            scripted("good", default=True),
            scripted("cut", "--mode", "cut"),
            scripted("crash", "--mode", "crash", "--exit-code", "0"),
            scripted("slow", "--mode", "slow", "--delay", "0.2", "--record", str(record)),
            {"id": "absent", "engine": "generic", "command": ["/no/such/engine", "{port}"]},
        ]
    )
    mesh.record = record  # type: ignore[attr-defined]
    return mesh


def read_broken(answer: requests.Response) -> bytes:
    """All bytes of a stream that must not end well."""
    data = b""
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        for chunk in answer.iter_content(None):
            data += chunk
    return data


def test_a_good_engine_is_passed_through(mesh: Mesh) -> None:
    answer = mesh.chat(max_tokens=3)

    assert answer.json()["choices"][0]["message"]["content"] == "The quick brown"
    assert answer.headers["x-mesh-model"] == "good"


def test_a_cut_stream_ends_with_an_error_and_without_done(mesh: Mesh) -> None:
    answer = mesh.chat(model="cut", stream=True)

    data = read_broken(answer)

    *_, last = data.decode().strip().split("\n\n")
    assert json.loads(last.removeprefix("data: "))["error"]["src"] == "mesh"
    assert b"[DONE]" not in data


def test_a_cut_answer_that_is_no_stream_is_an_error_and_not_half_an_answer(mesh: Mesh) -> None:
    answer = mesh.chat(model="cut")

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_cut"


def test_an_engine_that_ends_with_code_0_has_crashed_and_is_started_again(mesh: Mesh) -> None:
    broken = mesh.chat(model="crash", stream=True)
    data = read_broken(broken)

    after = mesh.chat(model="crash", max_tokens=1)

    assert b'"src": "mesh"' in data and b"[DONE]" not in data
    assert after.status_code in (200, 503)
    wait_until(lambda: mesh.chat(model="crash", max_tokens=1).status_code == 200)
    assert "the engine of crash exited with code 0: fatal: scripted crash" in mesh.log()


def test_an_engine_that_cannot_start_is_503_with_the_reason(mesh: Mesh) -> None:
    answer = mesh.chat(model="absent")

    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "there is no program /no/such/engine"
    assert mesh.chat(model="good", max_tokens=1).status_code == 200


REDIRECTING_ENGINE = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)
    def do_POST(self):
        self.send_response(307)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_an_engine_that_redirects_is_502_and_not_followed(launch: Launcher) -> None:
    command = [sys.executable, "-c", REDIRECTING_ENGINE, "{port}"]
    mesh = launch([{"id": "bad", "engine": "generic", "command": command}])

    answer = mesh.chat()

    assert answer.status_code == 502
    error = answer.json()["error"]
    assert (error["code"], error["src"]) == ("upstream_failed", "mesh")
    assert error["message"].startswith("the engine of bad gave no answer: it answered 307")
    assert "/elsewhere" not in mesh.log()


def test_a_client_that_leaves_frees_the_engine(mesh: Mesh) -> None:
    answer = mesh.chat(model="slow", stream=True)
    next(line for line in answer.iter_lines() if line.startswith(b"data:"))

    answer.close()

    record: Path = mesh.record  # type: ignore[attr-defined]
    wait_until(lambda: f'"gone": "{CHAT}"' in record.read_text(), 5)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_request"),
        (b"[1]", 400, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_request"),
        (b"[" * 200_000, 400, "invalid_request"),
        (b'{"model": 7}', 400, "invalid_request"),
        (b'{"model": "nobody"}', 404, "model_not_found"),
        (b'{"model": "' + b"x" * (33 * 2**20) + b'"}', 413, "too_large"),
    ],
    ids=["half", "list", "bytes", "deep", "number", "unknown", "large"],
)
def test_a_bad_request_is_answered_in_the_envelope(
    mesh: Mesh, body: bytes, status: int, code: str
) -> None:
    answer = mesh.http.post(mesh.url + CHAT, data=body, timeout=30)

    assert answer.status_code == status
    assert (answer.json()["error"]["code"], answer.json()["error"]["src"]) == (code, "mesh")
    assert answer.headers["x-mesh-release"] == "r-test"


def test_unknown_paths_and_methods_are_answered_in_the_envelope(mesh: Mesh) -> None:
    answers = [mesh.get("/nowhere"), mesh.get(CHAT)]

    assert [answer.status_code for answer in answers] == [404, 405]
    assert {answer.json()["error"]["src"] for answer in answers} == {"mesh"}


def test_the_port_opens_only_when_the_default_engine_is_ready(launch: Launcher) -> None:
    began = time.monotonic()

    mesh = launch([scripted("loading", "--load", "1.5")])

    assert time.monotonic() - began > 1.5
    assert mesh.get("/ready").json() == {"status": "ready", "model": "loading"}


def test_readiness_ends_with_the_default_engine_while_health_stays(launch: Launcher) -> None:
    mesh = launch([scripted("only", "--mode", "crash")])
    seen: list[requests.Response] = []

    def down() -> bool:
        """Asks again and again, for each answer ends the engine once more and for longer."""
        mesh.chat(stream=True).close()
        seen.append(mesh.get("/ready"))
        return seen[-1].status_code == 503 and "exited" in seen[-1].text

    wait_until(down, 20)

    assert "engine of only exited" in seen[-1].json()["error"]["message"]
    assert mesh.get("/health").status_code == 200


def test_sigterm_while_the_engine_loads_ends_both(tmp_path: Path) -> None:
    environ = environment([scripted("loading", "--load", "60")], PORT=str(free_front_port()))
    process = spawn(tmp_path / "log", environ)
    mesh = Mesh(process, "", tmp_path / "log")
    wait_until(lambda: "[loading] listening" in mesh.log())
    engines = mesh.engines()

    code = mesh.send(signal.SIGTERM)

    assert code == 0
    assert engines and not any(Path(f"/proc/{pid}").exists() for pid in engines)


def test_a_stream_too_long_for_the_shutdown_is_told_and_cut_before_cloud_run_kills(
    launch: Launcher,
) -> None:
    mesh = launch([scripted("endless", "--mode", "slow", "--delay", "4")])
    answer = mesh.chat(stream=True)
    began = time.monotonic()

    mesh.process.send_signal(signal.SIGTERM)
    data = read_broken(answer)

    assert mesh.process.wait(timeout=10) == 0
    assert time.monotonic() - began < 10
    assert b"the mesh is stopping" in data and b"[DONE]" not in data


def test_an_engine_that_does_not_load_in_time_ends_the_mesh(tmp_path: Path) -> None:
    environ = environment(
        [scripted("loading", "--load", "60")],
        PORT=str(free_front_port()),
        MESH_LOAD_TIMEOUT="1s",
    )

    code, log = fails_with(tmp_path / "log", environ)

    assert code == 1
    assert "mesh: the engine of loading was not ready within 1 s" in log


def test_the_first_complaint_of_an_engine_is_the_reason_of_the_mesh(tmp_path: Path) -> None:
    script = "print('hello'); print('KeyError: rope'); print('bye'); raise SystemExit(3)"
    command = [sys.executable, "-c", script, "{port}"]
    models = [{"id": "m", "engine": "generic", "command": command}]

    code, log = fails_with(tmp_path / "log", environment(models, PORT=str(free_front_port())))

    assert code == 1
    assert log.endswith("mesh: the engine of m exited with code 3: KeyError: rope\n")


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", free_front_port()))
        taken.listen()
        port = str(taken.getsockname()[1])

        code, log = fails_with(tmp_path / "log", environment([scripted()], PORT=port))

    assert code == 1
    assert f"port {port} cannot be listened on: " in log
