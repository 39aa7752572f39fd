"""The real llama-server boots, what it printed is remembered, and the next budget goes by it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.cli.main import run
from tests.contract.budget.engine import boot_of, write_model

SIZES = {"llama": 1, "gemma4": 2, "qwen35": 1}
"""By model: how many caches it has. Whole attention, windows, and recurrent states."""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Services without a card, so that what serves is the processor, as here."""
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {
        "meshctl": 1, "fleet": "test", "payloads": {}, "services": {},
        "targets": {"gcp": {"kind": "cloudrun", "project": "project", "region": "here"}},
        "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
    }  # fmt: skip
    for arch in SIZES:
        data = write_model(arch, tmp_path / f"{arch}.gguf").read_bytes()
        file = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        made["payloads"][arch] = {"source": "file:.", "files": {f"{arch}.gguf": file}}
    return made


def serve(fleet: dict[str, Any], arch: str, *flags: str) -> None:
    """Declare it with these flags, boot it with them, and keep its log."""
    fleet["services"][arch] = {
        "target": "gcp", "image": "i", "args": ["--cache-ram", "0", *flags],
        "resources": {"cpu": 8, "memory": "32Gi"}, "models": {"m": {"payload": arch}},
    }  # fmt: skip
    Path("meshctl.yaml").write_text(yaml.safe_dump(fleet))
    Path("boot.log").write_text(boot_of(Path(f"{arch}.gguf"), *flags))


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    found = run(["-o", "json", "budget", *words])
    told = capsys.readouterr()

    assert found == code, told.err
    return json.loads(told.out)


def sources(shown: Any) -> dict[str, str]:
    return {line["name"]: line["source"] for line in shown["why"]}


@pytest.mark.parametrize("arch", SIZES)
def test_what_was_predicted_is_what_it_printed_and_what_the_next_budget_says(
    arch: str, fleet: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    serve(fleet, arch, "-c", "4096", "-np", "2")
    before = asked(capsys, "show", arch)

    told = asked(capsys, "boot", arch, "--log", "boot.log")
    after = asked(capsys, "show", arch)

    rows = {row["name"]: row for row in told["rows"]}
    exact = ["context of a request", "weights", "caches"] + ["state"] * (arch == "qwen35")
    assert {name: rows[name]["off"] for name in exact} == dict.fromkeys(exact, 0)
    assert (told["findings"], told["recorded"], told["ready"]) == ([], True, True)
    assert len(before["kv_caches"]) == SIZES[arch]
    assert sources(before)["pool_bytes"] != "measured"
    assert {sources(after)[name] for name in ("pool_bytes", "weights_bytes")} == {"measured"}
    assert abs(after["pool_bytes"] - before["pool_bytes"]) <= 0.01 * 2**20
    assert after["overhead_high_bytes"] < before["overhead_high_bytes"]


def test_a_context_beyond_what_the_model_was_made_for_is_cut_and_found(
    fleet: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    serve(fleet, "llama", "-c", "16384", "-np", "1")

    told = asked(capsys, "boot", "llama", "--log", "boot.log", code=9)

    (finding,) = told["findings"]
    assert finding["id"] == "shrunk"
    assert "8,192 tokens a request where 16,384 are declared" in finding["text"]
