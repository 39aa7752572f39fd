"""Fifty clients, three models and bad weather: no answer is wrong, short or missing.

The real engine runs models that can only count, each in words of its own. SOAK_S is how long it
blows, in seconds, and SOAK_SEED is whose choices are repeated; ten minutes:

    SOAK_S=600 python -m pytest -m alone -s tests/contract/mesh/test_soak.py
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.mesh.mesh_processes import (
    SHA,
    Launcher,
    Mesh,
    RealEngine,
    environment,
    free_front_port,
    listens,
    spawn,
    wait_until,
)
from tests.contract.mesh.soak.clients import Client, Record, body_of
from tests.contract.mesh.soak.laws import Heard, Request, judge
from tests.contract.mesh.soak.vitals import descriptors, mentioning, resident_bytes, zombies
from tests.contract.mesh.soak.weather import Peer, Storms, kill_engines
from tests.fakes.counting_model import write_model

SECONDS = float(os.environ.get("SOAK_S", "120"))
SEED = os.environ.get("SOAK_SEED", "4")
CLIENTS = 50
NEAR, FAR = ("red", "green", "blue"), "far"
MODELS = (*NEAR, FAR)
GROWTH = 1.5
"""Of the memory, from a third of the time to its end; what leaks grows for as long as it lasts."""
CALM_S = 90.0
"""For the longest pause of an engine that crashed often (30 s), three times over."""

pytestmark = [pytest.mark.alone, pytest.mark.timeout(SECONDS + 6 * CALM_S)]


@dataclass(frozen=True)
class Sea:
    """A mesh with three models that take turns, its peer, and the folder their models lie in."""

    mesh: Mesh
    peer: Peer
    folder: Path


@pytest.fixture
def sea(launch: Launcher, real_engine: RealEngine, tmp_path: Path) -> Iterator[Sea]:
    variables = real_engine.variables | {
        "MESH_MODELS_DIR": str(tmp_path),
        "MESH_MIN_RESIDENCY": "500ms",
        "MESH_MAX_WAIT": "2s",
        "MESH_KEEPALIVE": "500ms",
        "MESH_QUEUE": "40",
        "MESH_PROXY_CONNECT_BACKOFF_MS": "100",
    }
    models = {name: counting(tmp_path, name) for name in MODELS}
    port = str(free_front_port())

    def come() -> subprocess.Popen[bytes]:
        offered = [models["blue"], models[FAR] | {"default": True}]
        return spawn(tmp_path / "peer.log", environment(offered, **variables, PORT=port))

    entry = f"peer=http://127.0.0.1:{port}|blue+{FAR}"
    near = [models[name] | {"default": name == "red"} for name in NEAR]
    mesh = launch(near, MESH_FEDERATION_PEERS=entry, **variables)
    peer = Peer(come)
    try:
        wait_until(lambda: listens(int(port)), 30)
        yield Sea(mesh, peer, tmp_path)
    finally:
        peer.end()


def counting(folder: Path, name: str) -> dict[str, Any]:
    """A counting model as a mesh wants it."""
    (folder / name).mkdir()
    file = folder / name / f"{name}.gguf"
    write_model(file, name)
    files = [{"path": file.name, "bytes": file.stat().st_size, "sha256": SHA}]
    return {"id": name, "payload": name, "files": files, "context": 512, "parallel": 4}


def test_no_answer_is_wrong_or_short_or_missing_and_nothing_is_left_behind(sea: Sea) -> None:
    calm(sea)
    held = descriptors(sea.mesh.process.pid)

    record, storms, warm_bytes = asyncio.run(blow(sea))
    calm(sea)

    print(f"\n{record}; {storms}, seed {SEED}")
    assert record.breaches == [], (SEED, record, storms)
    assert storms.killed >= SECONDS / 20 and storms.flapped >= 3
    assert all(record.seen[model, "whole"] >= SECONDS / 10 for model in MODELS), record
    assert record.count("told") and record.count("refused") and record.count("left"), record
    grown = resident_bytes(sea.mesh.process.pid) / warm_bytes
    print(f"memory: {warm_bytes / 2**20:.0f} MiB, then {grown:.2f} times that")
    assert grown < GROWTH
    wait_until(lambda: descriptors(sea.mesh.process.pid) <= held, 60)
    assert zombies(sea.mesh.process.pid) == []
    assert len(sea.mesh.engines()) == 1
    nothing_outlives(sea)


async def blow(sea: Sea) -> tuple[Record, Storms, int]:
    """Clients in the weather; also the memory of the mesh after a third of the time."""
    record, storms, over = Record(), Storms(), asyncio.Event()
    asking = [
        asyncio.create_task(Client(sea.mesh.url, MODELS, f"{SEED}-{n}", record).live(over))
        for n in range(CLIENTS)
    ]
    chance = random.Random(SEED)
    weather = [
        asyncio.create_task(kill_engines(sea.mesh, chance, storms)),
        asyncio.create_task(sea.peer.flap(chance, storms)),
    ]
    await asyncio.sleep(SECONDS / 3)
    warm_bytes = resident_bytes(sea.mesh.process.pid)
    await asyncio.sleep(SECONDS * 2 / 3)
    over.set()
    for task in weather:
        task.cancel()
    await asyncio.gather(*asking)
    await asyncio.wait(weather)
    return record, storms, warm_bytes


def calm(sea: Sea) -> None:
    """Returns when every model answers rightly, the peer's too, and nobody waits."""
    sea.peer.here()
    for model in MODELS:
        wait_until(lambda model=model: answers(sea.mesh, model), CALM_S)  # type: ignore[misc]
    lines = sea.mesh.get("/metrics").text.splitlines()
    assert {"mesh_queue_depth 0", "mesh_held_requests 0"} <= set(lines)


def answers(mesh: Mesh, model: str) -> bool:
    request = Request(model, 9, stream=False)
    answer = mesh.chat(**body_of(request))
    return judge(request, Heard(answer.status_code, answer.content, "clean")) == "whole"


def nothing_outlives(sea: Sea) -> None:
    """SIGTERM for both meshes, and no engine is left."""
    sea.peer.end()
    sea.mesh.process.terminate()
    sea.mesh.process.wait(timeout=30)
    wait_until(lambda: mentioning(str(sea.folder)) == [], 10)
