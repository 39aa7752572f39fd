"""One embedded cloud with a small image for all tests here, and a bench of its own for each."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.emulator.bench import Bench, call
from tests.emulator.federation import federation, mesh_image  # noqa: F401  (fixtures)

FAKES = Path(__file__).parents[1] / "fakes"
QUICK = {
    "startup_budget_seconds": 8.0,
    "stop_grace_seconds": 1.0,
    "retired_idle_seconds": 60.0,
    "queue_seconds": 2.0,
}
DOCKERFILE = 'FROM scratch\nCOPY . /\nENTRYPOINT ["/small_image.py"]\n'
RECIPE = """
steps:
  - {id: image, name: gcr.io/cloud-builders/docker, args: [build, -t, $_IMAGE, -f, Dockerfile, .]}
images: [$_IMAGE]
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The embedded cloud, started as a person starts it, and the small image, built once."""
    bench = Bench(tmp_path_factory.mktemp("built"), "true", "built")
    context = bench.folder / "context"
    context.mkdir()
    for name in ("small_image.py", "fake_engine.py"):
        shutil.copy(FAKES / name, context / name)
    (context / "small_image.py").chmod(0o755)
    (context / "Dockerfile").write_text(DOCKERFILE)
    (bench.folder / "recipe.yaml").write_text(RECIPE)
    bench.declare()
    bench.url = bench.json("emulator", "start")["url"]
    call(bench.url, "PUT", "/emulator/settings", QUICK)
    bench.declare()
    assert bench.json("build", "small")["digest"].startswith("sha256:")
    yield bench
    assert bench.json("emulator", "stop")["state"] == "stopped"


@pytest.fixture
def benches(
    built: Bench, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Bench]]:
    """Makes fleets of one service `chat`, called something else on the target, not deployed yet."""
    made: list[Bench] = []

    def make(lane: str) -> Bench:
        number = zlib.crc32(f"{request.node.nodeid} {lane}".encode())
        made.append(Bench(tmp_path / lane, built.url, f"s{number:08x}"))
        furnish(made[-1], built)
        return made[-1]

    yield make
    for bench in made:
        bench.stop()
        forget(bench)


@pytest.fixture
def bench(benches: Callable[[str], Bench]) -> Bench:
    """The one fleet of a test that needs no more."""
    return benches("fleet")


def furnish(bench: Bench, built: Bench) -> None:
    """A folder with a fleet file, what is built, and the record of the build."""
    shutil.copytree(built.folder / ".meshctl/state", bench.folder / ".meshctl/state")
    for part in ("context", "recipe.yaml"):
        (bench.folder / part).symlink_to(built.folder / part)
    bench.declare()


def forget(bench: Bench) -> None:
    """Remove what the test left in the cloud: every instance is a process."""
    call(bench.url, "DELETE", "/emulator/faults")
    for service in bench.services.values():
        path = f"/v2/projects/local/locations/local1/services/{service['name']}"
        call(bench.url, "DELETE", path)
