"""`meshctl budget show WHAT`: what is meant, on which card, and what is refused as no question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.cli.main import run
from meshctl.ui.budget import Budget
from tests.fakes import model_files

KEYS = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 256,
    "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
    "llama.context_length": 4096, "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["a", "b"],
}  # fmt: skip
"""1 KiB a token."""


def service(payload: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"target": "attic", "image": "i", "args": list(args),
            "models": {payload: {"payload": payload}}} | more  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet of three services on a host with one card of 12 GiB, and its files."""
    monkeypatch.chdir(tmp_path)
    payloads = {}
    for name in ("one", "two", "other"):
        keys = KEYS if name != "other" else KEYS | {"general.architecture": "tomorrow"}
        data = model_files.gguf(keys, model_files.weights("F16"))
        (tmp_path / f"{name}.gguf").write_bytes(data)
        file = {"bytes": len(data), "sha256": "1" * 64}
        payloads[name] = {"source": "file:.", "files": {f"{name}.gguf": file}}
    payloads["gone"] = {"source": "file:.", "files": {"gone.gguf": payloads["one"]["files"][
        "one.gguf"]}}  # fmt: skip
    fleet = {
        "meshctl": 1, "fleet": "test",
        "targets": {
            "attic": {"kind": "podman", "address": "attic",
                      "gpus": [{"name": "L4", "memory": "12GiB"}]},
            "gcp": {"kind": "cloudrun", "project": "project", "region": "here"},
        },
        "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
        "payloads": payloads,
        "services": {
            "large": service("one", "-c", "4194304"),
            "small": service("two", "-c", "8192"),
            "strange": service("other", "-c", "8192", target="gcp",
                               resources={"gpu": "nvidia-l4", "cpu": 4, "memory": "16Gi"}),
            "lost": service("gone", "-c", "8192", target=["attic", "gcp"]),
        },
    }  # fmt: skip
    (tmp_path / "meshctl.yaml").write_text(yaml.safe_dump(fleet))
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The document, or the error, in JSON."""
    found = run(["-o", "json", "budget", "show", *words])
    told = capsys.readouterr()

    assert found == code, told.err
    data = json.loads(told.out)
    if data["kind"] == "budget/v1":
        assert Budget.model_validate(data).data() == data
    return data


def test_a_file_on_a_card_is_answered_from_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "one.gguf", "--gpu", "T4", "--context", "2048", "--sequences", "3")

    assert (found["verdict"], found["device"]["name"], found["model"]) == (
        "fits",
        "T4",
        "one.gguf",
    )
    assert found["kv_bytes_per_token"] == 1024
    assert found["pool_bytes"] == 3 * 2048 * 1024
    assert [row["sequences"] for row in found["contexts"]] == [1, 2, 3]


def test_every_service_of_a_host_is_beside_the_one_that_is_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    large, small = asked(capsys, "large", code=9), asked(capsys, "small", code=9)

    assert [one["name"] for one in large["neighbours"]] == ["lost", "small"]
    assert [one["name"] for one in small["neighbours"]] == ["large", "lost"]
    assert small["others_bytes"] > 4 * 2**30
    assert (small["verdict"], small["binds"]) == ("unknown", "neighbours")


def test_a_card_of_its_own_has_no_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "large", "--gpu", "L4")

    assert (found["binds"], found["neighbours"]) == ("context", []), "longer than the model alone"


def test_a_payload_on_a_host_is_beside_the_services_that_serve_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = asked(capsys, "one", "--on", "attic", "--context", "4096", code=9)

    assert [one["name"] for one in found["neighbours"]] == ["lost", "small"]


def test_an_unknown_family_is_unknown_and_exits_9(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "strange", code=9)

    assert (found["verdict"], found["binds"], found["contexts"]) == ("unknown", "model", [])


def test_a_header_that_is_not_there_is_told_and_is_no_crash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = asked(capsys, "lost", "--on", "gcp", code=9)

    assert (found["verdict"], found["binds"]) == ("unknown", "payload")
    assert "there is no file" in found["why"][-1]["text"]


def test_more_context_is_asked_for_one_request_and_the_type_of_the_cache_is_chosen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wide = asked(capsys, "small", "--gpu", "L4", "--context", "16384", "--sequences", "2")
    narrow = asked(capsys, "small", "--gpu", "L4", "--context", "16384", "--sequences", "2",
                   "--kv-dtype", "q8_0")  # fmt: skip

    assert wide["kv_tokens"] == 2 * 16_384
    assert narrow["pool_bytes"] * 32 == wide["pool_bytes"] * 17


def test_the_arithmetic_is_there_for_whoever_asks_why(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["budget", "show", "small", "--gpu", "L4", "--why"])
    told = capsys.readouterr().out

    assert code == 0
    assert "context = 8,192 (config) `-c 8192`" in told
    assert "device_bytes = 23,665,269,801 (measured) L4: engines' logs: 22.04 GiB" in told
    assert max(map(len, told.splitlines())) <= 80


def test_a_service_comes_before_a_folder_or_a_file_of_its_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "small").mkdir()
    (home / "large").write_text("no model")

    small, large = (asked(capsys, key, "--gpu", "L4") for key in ("small", "large"))

    assert (small["model"], large["model"]) == ("two", "one")


def test_a_file_is_answered_beside_a_fleet_file_that_is_wrong(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "meshctl.yaml").write_text("meshctl: 2")

    assert asked(capsys, "one.gguf", "--gpu", "L4")["verdict"] == "fits"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ([], "name a service or payload", "budget show chat"),
        (["one"], "on which card?", "--gpu L4"),
        (["nothing"], "no service, no payload and no file", "known: "),
        (["smal"], "no service, no payload and no file", 'did you mean "small"?'),
        (["one", "--gpu", "L5"], "no card 'L5' is known", "NAME or NAMExCOUNT"),
        (["one", "--on", "attik"], "no target named 'attik'", 'did you mean "attic"?'),
        (["one", "--on", "gcp"], "gives each service the card", "--gpu L4"),
        (["one", "--gpu", "L4", "--kv-dtype", "q9"], "no type 'q9'", "q8_0"),
        (["one", "--gpu", "L4", "--engine-version", "new"], "is no version", "0.19.1"),
        (["one", "-f", "none.yaml"], "there is no fleet file, and one is no file", "-f"),
        (["one", "--on", "attic", "--gpu", "L4"], "do not go together", "name the target"),
        (["small", "--geometry", "g.yaml"], "--geometry and WHAT do not go together", "leave"),
        (["--geometry", "g.yaml", "--gpu", "L4"], "--geometry and --gpu do not go", "leave"),
        (["small", "--engine", "vllm"], "--engine is for payloads", "models name their engine"),
        (["small", "--model", "tow"], "small has no model 'tow'", 'did you mean "two"?'),
        (["one", "--gpu", "L4", "--engine", "x"], "no family 'x'", "known: llama-server, vllm"),
        (["lost"], "runs on several targets", "choose: --on TARGET"),
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused_with_the_way_out(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = asked(capsys, *words, code=64)

    assert message in error["message"]
    assert hint in error["hint"]


def test_a_picture_that_cannot_be_written_is_told(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = asked(capsys, "small", "--gpu", "L4", "--picture", "no/such/folder.svg", code=64)
    asked(capsys, "small", "--gpu", "L4", "--picture", "small.svg")

    assert "folder.svg" in error["place"]
    assert (home / "small.svg").read_text().startswith("<svg ")


def test_a_card_that_no_target_has_is_asked_about_without_a_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    monkeypatch.chdir(bare)

    found = asked(capsys, "../one.gguf", "--gpu", "R9700x2")

    assert (found["device"]["count"], found["verdict"]) == (2, "fits")
