"""What a mesh writes is read by Cloud Logging as it was meant, and by an operator over HTTP."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

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
    wait_until,
)

CLOUD_RUN = {"K_SERVICE": "chat", "K_REVISION": "chat-00001-abc", "GCE_METADATA_HOST": "127.0.0.1"}
TALKING = """
import os, runpy, sys
print("0.00.001.000 W careful", flush=True)
print("0.00.002.000 E it will not be well", flush=True)
print("just words", flush=True)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def talking(id: str = "loud", *flags: str, **more: Any) -> dict[str, Any]:
    """The scripted engine, which says some lines of llama.cpp's kind before it begins."""
    entry = scripted(id, *flags, **more)
    program, *rest = entry["command"]
    return entry | {"command": [program, "-c", TALKING, *rest]}


def entries(text: str) -> list[dict[str, Any]]:
    """Every line, which is one JSON object."""
    return [json.loads(line) for line in text.splitlines()]


def said(rows: list[dict[str, Any]], part: str) -> dict[str, Any]:
    """The one line that holds this."""
    [row] = [row for row in rows if part in row["message"]]
    return row


def test_on_cloud_run_every_line_is_an_object_with_its_severity(launch: Launcher) -> None:
    mesh = launch([talking("loud", "--mode", "cut")], **CLOUD_RUN)
    headers = {"x-request-id": "req-7"}
    body = {"messages": [{"role": "user", "content": "hello"}]}
    broken = mesh.http.post(mesh.url + CHAT, json=body, headers=headers, timeout=30)
    wait_until(lambda: "outcome=failed" in mesh.log())

    rows = entries(mesh.log())

    assert broken.status_code == 502
    assert all(set(row) >= {"severity", "message"} for row in rows)
    assert said(rows, "careful")["severity"] == "WARNING"
    assert said(rows, "it will not be well") == {
        "severity": "ERROR",
        "message": "[loud] 0.00.002.000 E it will not be well",
        "model": "loud",
    }
    assert said(rows, "just words")["severity"] == "DEFAULT"
    assert said(rows, "listens on port")["severity"] == "INFO"
    assert said(rows, "outcome=failed") == {
        "severity": "WARNING",
        "message": "mesh: request=req-7 model=loud outcome=failed: the engine of loud broke off in "
        "the middle of its answer",
        "request_id": "req-7",
    }


def test_a_mesh_that_ends_says_why_as_an_error(tmp_path: Path) -> None:
    script = "print('hello'); print('KeyError: rope'); raise SystemExit(3)"
    model = {"id": "m", "engine": "generic", "command": [sys.executable, "-c", script, "{port}"]}
    port = str(free_front_port())

    code, log = fails_with(tmp_path / "log", environment([model], PORT=port, **CLOUD_RUN))
    wrong, refusal = fails_with(
        tmp_path / "log", environment([model], PORT=port, MESH_QUEUE="no", **CLOUD_RUN)
    )

    errors = [row["message"] for row in entries(log) if row["severity"] == "ERROR"]
    assert code == 1
    assert "[m] KeyError: rope" in errors
    assert errors[-1] == "mesh: the engine of m exited with code 3: KeyError: rope"
    assert wrong == 64
    assert entries(refusal)[0]["message"].startswith("mesh: MESH_QUEUE: 'no' is not a whole")


def test_the_form_of_the_log_may_be_chosen(launch: Launcher, tmp_path: Path) -> None:
    structured = launch([scripted()], MESH_LOG_FORMAT="json")
    plain = launch([scripted()], MESH_LOG_FORMAT="text", **CLOUD_RUN)

    code, log = fails_with(tmp_path / "log", environment([scripted()], MESH_LOG_FORMAT="xml"))

    assert entries(structured.log())[-1]["severity"] == "INFO"
    assert plain.log().splitlines()[-1].startswith("mesh info: ")
    assert (code, "MESH_LOG_FORMAT: 'xml' is not one of text, json" in log) == (64, True)


@pytest.fixture(scope="module")
def mesh(launch: Launcher) -> Mesh:
    """Two models, of which one is loaded."""
    models = [talking("first", default=True, aliases=["one"]), talking("second")]
    return launch(models, MESH_LOG="debug")


def page(mesh: Mesh, query: str = "") -> str:
    """The lines of the log, as an operator gets them."""
    answer = mesh.get(f"/logs{query}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (
        200,
        "text/plain; charset=utf-8",
    )
    return answer.text


def test_the_last_lines_of_the_mesh_and_its_engines_are_told_over_http(mesh: Mesh) -> None:
    everything = page(mesh)

    lines = everything.splitlines()
    assert any(line.endswith("Z warning [first] 0.00.001.000 W careful") for line in lines)
    assert any(line.endswith("Z - [first] just words") for line in lines)
    assert "Z info mesh: the engine of first is ready" in everything
    assert lines == sorted(lines, key=lambda line: line.split()[0]), "the oldest first"
    assert page(mesh, "?lines=1").splitlines() == page(mesh).splitlines()[-1:]


def test_the_lines_of_one_engine_are_asked_for_by_its_model(mesh: Mesh) -> None:
    own = page(mesh, "?model=one")
    unknown = mesh.get("/logs?model=third")

    assert own and all("[first]" in line for line in own.splitlines())
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")
    assert mesh.get("/logs?lines=none").status_code == 400


def test_followed_the_log_goes_on_until_the_client_leaves(mesh: Mesh) -> None:
    with mesh.http.get(mesh.url + "/logs?follow&model=second", stream=True, timeout=30) as stream:
        lines = stream.iter_lines(chunk_size=1, decode_unicode=True)
        assert mesh.chat(model="second", max_tokens=1).status_code == 200
        heard = [str(next(lines)) for _ in range(3)]

    assert [line.split(" ", 2)[2] for line in heard] == [
        "[second] 0.00.001.000 W careful",
        "[second] 0.00.002.000 E it will not be well",
        "[second] just words",
    ]
    assert mesh.get("/health").status_code == 200


def test_every_answer_names_its_request(mesh: Mesh) -> None:
    paths = ("/health", "/v1/models", "/logs", "/nowhere", CHAT)
    given = [
        mesh.http.get(mesh.url + path, headers={"x-request-id": "mine"}, timeout=30)
        for path in paths
    ]

    assert [answer.headers["x-request-id"] for answer in given] == ["mine"] * len(paths)
    assert len({mesh.get("/health").headers["x-request-id"] for _ in range(3)}) == 3


def test_a_follower_hears_the_end_and_does_not_hold_it_up(launch: Launcher) -> None:
    mesh = launch([scripted()])

    with mesh.http.get(mesh.url + "/logs?follow", stream=True, timeout=30) as stream:
        lines = stream.iter_lines(chunk_size=1, decode_unicode=True)
        first = next(lines)
        code = mesh.send(signal.SIGTERM)
        heard = [first, *rest(lines)]

    assert code == 0
    assert any("stopping: answers in flight may finish" in line for line in heard)


def rest(lines: Iterator[str]) -> Iterator[str]:
    """What still comes, however it ends."""
    with suppress(requests.RequestException):
        yield from lines
