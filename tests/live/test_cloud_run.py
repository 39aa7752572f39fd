"""The same promises on a real project; opt-in, for it needs an account and costs a few cents.

Set MESHCTL_LIVE_PROJECT, MESHCTL_LIVE_REGION and MESHCTL_LIVE_IMAGE, a pinned reference of an image
that answers GET /v1/models with 200. MESHCTL_LIVE_CHECKS names its battery (default: reachable).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WANTED = ("MESHCTL_LIVE_PROJECT", "MESHCTL_LIVE_REGION", "MESHCTL_LIVE_IMAGE")
MISSING = [name for name in WANTED if not os.environ.get(name)]
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(MISSING), reason=f"needs a real project: set {', '.join(MISSING)}"),
]


@dataclass
class Live:
    """A fleet of one service of a name of its own, in the real project."""

    folder: Path
    name: str

    def declare(self, release: str) -> None:
        project, region, image = (os.environ[name] for name in WANTED)
        checks = os.environ.get("MESHCTL_LIVE_CHECKS", "reachable").split(",")
        fleet = {
            "meshctl": 1,
            "fleet": "live",
            "targets": {"gcp": {"kind": "cloudrun", "project": project, "region": region}},
            "images": {"live": {"ref": image}},
            "services": {
                self.name: {"target": "gcp", "image": "live", "env": {"LIVE_RELEASE": release},
                            "checks": checks, "scaling": {"min": 0, "max": 1}}
            },
        }  # fmt: skip
        (self.folder / "meshctl.yaml").write_text(json.dumps(fleet))

    def run(self, *words: str, code: int = 0) -> Any:
        argv = [sys.executable, "-m", "meshctl", "-o", "json", *words]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    def serving(self) -> str:
        (service,) = self.run("status")["services"]
        assert service["state"] == "READY"
        return str(service["release"])


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path, f"meshctl-live-{os.getpid()}")
    yield made
    project, region, _ = (os.environ[name] for name in WANTED)
    subprocess.run(
        ["gcloud", "run", "services", "delete", made.name, "--project", project,
         "--region", region, "--quiet"], check=True,
    )  # fmt: skip


def test_a_release_is_placed_verified_cut_over_and_rolled_back(live: Live) -> None:
    live.declare("one")
    first = live.run("deploy", "-y")["to_release"]
    assert live.serving() == first
    assert live.run("plan")["services"][0]["steps"] == []

    live.declare("two")
    second = live.run("canary", live.name, "-y")["to_release"]
    assert live.serving() == first
    live.run("cutover", live.name, "-y")
    assert live.serving() == second

    live.run("rollback", live.name, "-y")
    assert live.serving() == first
