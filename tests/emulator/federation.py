"""A coordinator and its peers on the shared cloud: the real mesh, scripted engines behind it."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.bench import Bench, call, short

FAKES = Path(__file__).parents[1] / "fakes"
PROGRAM = """#!/usr/bin/env python3
import os, sys
from meshctl.mesh.__main__ import main
sys.exit(main(["serve"], os.environ))
"""
DOCKERFILE = 'FROM scratch\nCOPY . /\nENTRYPOINT ["/mesh.py"]\n'
HEAD = """
meshctl: 1
fleet: bench
targets:
  local: {kind: cloudrun, project: local, region: local1, emulator: EMULATOR}
images:
  mesh:
    repository: local1-docker.pkg.dev/local/bench/mesh
    tag: "v{n}"
    build: {config: recipe.yaml, context: mesh}
services:
"""
CARD = {"cpu": 4, "memory": "16Gi", "gpu": "nvidia-l4"}
QUICK = {"token_deadline": "10s", "confirm": 1}


def model(mode: str = "ok") -> dict[str, Any]:
    """A model of the scripted engine, which says what it is asked in its own name."""
    words = ["python3", "fake_engine.py", "--port", "{port}", "--model", "{id}", "--mode", mode]
    return {"engine": "generic", "command": words}


@dataclass
class Federation(Bench):
    """`chat` is the coordinator and owns `near`; `peer-a` is its peer and owns `far`."""

    written: dict[str, dict[str, Any]] = field(default_factory=dict)

    def declare(self, key: str = "chat", **changes: Any) -> None:
        before = self.written.get(key, {"name": f"{self.name}-{key}"})
        self.written[key] = self.services[key] = {**before, **changes}
        rows = [f"  {name}: {json.dumps(service)}" for name, service in self.written.items()]
        self.file.write_text("\n".join([HEAD.replace("EMULATOR", self.url), *rows, ""]))

    def found(self) -> None:
        """Both services, declared and not deployed."""
        self.declare(
            "chat", role="coordinator", target="local", image="mesh", args=["mesh"],
            access="public", env={"COLOUR": "red"}, models={"near": model()},
            checks=["identity", "completion"], rollout={**QUICK, "steps": [50, 100]},
        )  # fmt: skip
        self.peer("peer-a", far=model())

    def peer(self, key: str, **models: Any) -> None:
        self.declare(
            key, role="peer", like="chat", access="private", resources=CARD,
            scaling={"min": 0, "max": 1}, models=models, rollout=QUICK,
        )  # fmt: skip

    def forget_peer(self, key: str) -> None:
        """Take it out of the fleet file; the cloud still has it."""
        del self.written[key]
        self.declare()

    def live(self, key: str = "chat") -> dict[str, str]:
        """The environment of the one revision that serves, as the cloud shows it."""
        [serving] = self.split_of(key)
        name = f"{self.name}-{key}"
        path = f"/v2/projects/local/locations/local1/services/{name}/revisions/{serving}"
        rows = call(self.url, "GET", path)[1]["containers"][0]["env"]
        return {row["name"]: row.get("value", "") for row in rows}

    def announced(self) -> list[str]:
        """Whom the coordinator announces."""
        text = self.live().get("MESH_FEDERATION_PEERS") or "[]"
        return [entry["id"] for entry in json.loads(text)]

    def asks(self, name: str, key: str = "chat") -> tuple[int, str]:
        """One completion through the coordinator: status and text."""
        url = (self.service(f"{self.name}-{key}") or {})["uri"]
        return self.ask(url, name)

    def split_of(self, key: str = "chat") -> dict[str, int]:
        rows = (self.service(f"{self.name}-{key}") or {}).get("trafficStatuses", [])
        return {short(row): row["percent"] for row in rows if row.get("percent")}

    def heard(self, key: str = "peer-a") -> list[str]:
        """Everything the cloud knows that a service was asked and said: its requests, which the
        front counts, and its output, which begins anew with every instance."""
        name = self.services[key]["name"]
        asked = {
            "resourceNames": ["projects/local"], "pageSize": 1000,
            "filter": f'resource.labels.service_name="{name}"',
        }  # fmt: skip
        status, body = call(self.url, "POST", "/v2/entries:list", asked)
        assert status == 200, body
        return [row["insertId"] for row in body.get("entries", [])]


@pytest.fixture(scope="module")
def mesh_image(built: Bench, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The image of the mesh, built once; its state is what every federation begins with."""
    made = Federation(tmp_path_factory.mktemp("mesh"), built.url, "mesh-built")
    context = made.folder / "mesh"
    context.mkdir()
    shutil.copy(FAKES / "fake_engine.py", context / "fake_engine.py")
    (context / "mesh.py").write_text(PROGRAM)
    (context / "mesh.py").chmod(0o755)
    (context / "Dockerfile").write_text(DOCKERFILE)
    shutil.copy(built.folder / "recipe.yaml", made.folder / "recipe.yaml")
    made.found()
    assert made.json("build", "mesh")["digest"].startswith("sha256:")
    return made


@pytest.fixture
def federation(
    mesh_image: Federation, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Federation]:
    """A coordinator and a peer, declared and not deployed, with state of their own."""
    number = zlib.crc32(request.node.nodeid.encode())
    made = Federation(tmp_path, mesh_image.url, f"p{number:08x}")
    shutil.copytree(mesh_image.folder / ".meshctl/state", tmp_path / ".meshctl/state")
    for part in ("mesh", "recipe.yaml"):
        (tmp_path / part).symlink_to(mesh_image.folder / part)
    made.found()
    yield made
    made.stop()
    for service in made.services.values():
        call(made.url, "DELETE", f"/v2/projects/local/locations/local1/services/{service['name']}")
