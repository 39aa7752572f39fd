"""A mesh with the real llama-server and a real model serves, stops and recovers."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.contract.mesh.mesh_processes import (
    Launcher,
    Mesh,
    RealEngine,
    environment,
    fails_with,
    free_front_port,
    wait_until,
)

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def mesh(launch: Launcher, real_engine: RealEngine) -> Mesh:
    return launch([real_engine.model], K_REVISION="chat-00001", **real_engine.variables)


def test_a_completion_comes_from_the_model_and_says_who_gave_it(mesh: Mesh) -> None:
    answer = mesh.chat(model="smol", max_tokens=8, temperature=0)

    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"].strip()
    assert answer.json()["usage"]["completion_tokens"] == 8
    assert answer.headers["x-mesh-release"] == "r-test"
    assert answer.headers["x-mesh-revision"] == "chat-00001"
    assert answer.headers["x-mesh-model"] == "smol"


def test_a_stream_arrives_token_by_token_and_ends_with_done(mesh: Mesh) -> None:
    answer = mesh.chat(stream=True, max_tokens=24, temperature=0)

    times, lines = [], []
    for line in answer.iter_lines(chunk_size=1):
        if line.startswith(b"data:"):
            times.append(time.monotonic())
            lines.append(line)

    assert lines[-1] == b"data: [DONE]"
    text = [json.loads(line[6:])["choices"][0]["delta"].get("content") for line in lines[:-1]]
    assert len([piece for piece in text if piece]) >= 10
    assert times[-1] - times[1] > 0.03, "the whole stream came at once"


def test_an_alias_and_no_name_at_all_reach_the_same_model(mesh: Mesh) -> None:
    answers = [mesh.chat(model="tiny", max_tokens=1), mesh.chat(max_tokens=1)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert {answer.headers["x-mesh-model"] for answer in answers} == {"smol"}


def test_the_engine_has_the_declared_window_for_each_slot(mesh: Mesh) -> None:
    (card,) = mesh.get("/v1/models").json()["data"]

    assert (card["id"], card["aliases"], card["meta"]["n_ctx"]) == ("smol", ["tiny"], 1024)
    assert "n_slots = 2, n_ctx_slot = 1024" in mesh.log()


def test_a_killed_engine_comes_back_and_nobody_waits_in_the_dark(mesh: Mesh) -> None:
    mesh.chat(max_tokens=1)
    (engine,) = mesh.engines()

    os.kill(engine, signal.SIGKILL)
    answer = mesh.chat(max_tokens=1)

    if answer.status_code != 200:
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        assert "engine of smol" in answer.json()["error"]["message"]
        assert answer.json()["error"]["src"] == "mesh"
    wait_until(lambda: mesh.chat(max_tokens=1).status_code == 200)
    assert "the engine of smol was killed by signal 9" in mesh.log()
    assert mesh.get("/ready").status_code == 200


def test_sigterm_lets_a_stream_finish_and_leaves_no_engine(
    launch: Launcher, real_engine: RealEngine
) -> None:
    mesh = launch([real_engine.model], **real_engine.variables)
    answer = mesh.chat(stream=True, max_tokens=40, temperature=0)
    lines = answer.iter_lines()
    next(lines)
    engines = mesh.engines()

    mesh.process.send_signal(signal.SIGTERM)
    rest = [line for line in lines if line]

    assert rest[-1] == b"data: [DONE]"
    assert mesh.process.wait(timeout=10) == 0
    assert engines and not any(Path(f"/proc/{pid}").exists() for pid in engines)


def test_kill_9_of_the_mesh_leaves_no_engine(launch: Launcher, real_engine: RealEngine) -> None:
    mesh = launch([real_engine.model], **real_engine.variables)
    (engine,) = mesh.engines()

    mesh.send(signal.SIGKILL)

    wait_until(lambda: not living(engine), 5)


def living(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_broken_model_file_ends_the_mesh_with_the_engines_first_error(
    real_engine: RealEngine, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "m.gguf").write_bytes(b"version https://git-lfs\n")
    file = {"path": "m.gguf", "bytes": 24, "sha256": "0" * 64}
    models = [{"id": "broken", "payload": "broken", "files": [file]}]
    variables = real_engine.variables | {"MESH_MODELS_DIR": str(tmp_path)}

    environ = environment(models, PORT=str(free_front_port()), **variables)
    for _ in range(10):  # a llama-server that ends at once on a busy machine loses its last lines
        code, log = fails_with(tmp_path / "log", environ)
        if "Git LFS pointer" in log:
            break

    assert code == 1
    reason = log.splitlines()[-2]
    assert reason.startswith("mesh: the engine of broken exited with code 1: "), log
    assert "invalid magic characters: 'vers'" in reason
    assert "Git LFS pointer" in log.splitlines()[-1]


def test_an_absent_model_file_is_named_before_any_engine_starts(
    real_engine: RealEngine, tmp_path: Path
) -> None:
    variables = real_engine.variables | {"MESH_MODELS_DIR": str(tmp_path)}

    environ = environment([real_engine.model], PORT=str(free_front_port()), **variables)
    code, log = fails_with(tmp_path / "log", environ)

    assert code == 1
    assert "is missing; the model smol needs" in log
    assert "[smol]" not in log
