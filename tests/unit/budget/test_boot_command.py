"""`meshctl budget boot`: a log is compared, remembered, and heeded by the next `budget show`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.cli.budget_boot_log import newest_boot
from meshctl.cli.main import run
from meshctl.ui.boot import BudgetBoot
from meshctl.ui.names import names
from meshctl.ui.render import render
from tests.fakes import model_files
from tests.unit.budget.boot_logs import LLAMA, LLAMA_QUIET, VLLM_033

KEYS = {
    "general.architecture": "llama", "llama.block_count": 32, "llama.embedding_length": 4096,
    "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
    "llama.context_length": 131_072, "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["a", "b"],
}  # fmt: skip
CARD = {"gpu": "nvidia-l4", "cpu": 4, "memory": "16Gi"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet with one service on an L4, one with two models, one on a host; and three logs."""
    monkeypatch.chdir(tmp_path)
    data = model_files.gguf(KEYS, model_files.weights("F16"))
    (tmp_path / "m.gguf").write_bytes(data)
    file = {"bytes": len(data), "sha256": "1" * 64}
    served = {"target": "gcp", "image": "i", "args": ["-c", "8192", "-np", "2"],
              "resources": CARD, "models": {"small": {"payload": "p"}}}  # fmt: skip
    fleet = {
        "meshctl": 1, "fleet": "test",
        "targets": {
            "gcp": {"kind": "cloudrun", "project": "project", "region": "here"},
            "attic": {"kind": "podman", "address": "attic",
                      "gpus": [{"name": "L4", "memory": "12GiB"}]},
        },
        "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
        "payloads": {"p": {"source": "file:.", "files": {"m.gguf": file}}},
        "services": {
            "chat": served,
            "long": {**served, "args": ["-c", "65536", "-np", "2"]},
            "pair": {**served, "models": {"one": {"payload": "p"}, "two": {"payload": "p"}},
                     "default_model": "one"},
            "home": {**served, "target": "attic", "resources": {}},
        },
    }  # fmt: skip
    (tmp_path / "meshctl.yaml").write_text(yaml.safe_dump(fleet))
    (tmp_path / "boot.log").write_text(LLAMA)
    (tmp_path / "quiet.log").write_text(LLAMA_QUIET)
    (tmp_path / "bytes.log").write_bytes(b"\xff\xfe\x00" + LLAMA.encode() + b"\xc3")
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The document, or the error, in JSON."""
    found = run(["-o", "json", "budget", *words])
    told = capsys.readouterr()

    assert found == code, told.err
    data = json.loads(told.out)
    if data["kind"] == "budget-boot/v1":
        assert BudgetBoot.model_validate(data).data() == data
    return data


def measured(shown: Any) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in shown["why"] if one["source"] == "measured"}


def test_a_boot_is_remembered_and_the_next_budget_is_told_by_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = measured(asked(capsys, "show", "chat"))
    told = asked(capsys, "boot", "chat", "--log", "boot.log")
    after = measured(asked(capsys, "show", "chat"))
    other = measured(asked(capsys, "show", "chat", "--context", "8192"))

    assert (told["recorded"], told["findings"], told["ready"]) == (True, [], True)
    rows = {row["name"]: row for row in told["rows"]}
    assert (rows["caches"]["low"], rows["caches"]["off"]) == (2**30, 0)
    assert "weights_bytes" not in before
    assert after["weights_bytes"] == other["weights_bytes"] == 7660 * 2**20
    assert after["pool_bytes"] == 2**30
    assert "pool_bytes" not in other


def test_no_record_remembers_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, "boot", "chat", "--log", "boot.log", "--no-record")

    assert (told["recorded"], told["note"]) == (False, "not remembered")
    assert not (home / ".meshctl").exists()


def test_a_context_that_was_cut_exits_9_and_is_a_no_from_then_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = asked(capsys, "boot", "long", "--log", "boot.log", code=9)
    shown = asked(capsys, "show", "long", code=9)

    assert [one["id"] for one in told["findings"]] == ["shrunk"]
    assert (shown["verdict"], shown["binds"]) == ("no", "context")


def test_a_log_that_says_no_sizes_is_told_how_it_would(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, "boot", "chat", "--log", "quiet.log")

    assert (told["recorded"], told["ready"]) == (False, True)
    assert "`-lv 4`" in told["note"]


def test_a_log_may_hold_any_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "boot", "chat", "--log", "bytes.log")["recorded"]


def test_a_log_alone_is_only_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, "boot", "--log", "boot.log")

    assert (told["engine"], told["recorded"], told["subject"]) == ("llama-server", False, None)
    assert {row["low"] for row in told["rows"]} == {None}
    assert not (home / ".meshctl").exists()


def test_a_log_is_read_from_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VLLM_033.encode())))

    told = asked(capsys, "boot", "--log", "-")

    assert (told["engine"], told["engine_version"], told["source"]) == ("vllm", "0.33.0", "stdin")


def test_a_state_that_cannot_be_read_holds_no_budget_up(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(capsys, "boot", "chat", "--log", "boot.log")
    (stored,) = (home / ".meshctl/state/boots").iterdir()
    stored.write_bytes(b"\xff")

    shown = asked(capsys, "show", "chat")
    error = asked(capsys, "boot", "chat", "--log", "boot.log", code=1)

    assert "weights_bytes" not in measured(shown)
    assert error["message"] == "the measured boots of a payload cannot be read"


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        ([], 64, "name a service, or --log FILE", "budget boot chat"),
        (["--log", "boot.log", "--model", "m"], 64, "--model is for a service", "name the service"),
        (["chta"], 64, "no service named 'chta'", 'did you mean "chat"?'),
        (["pair", "--log", "boot.log"], 64, "pair has several models", "--model NAME, one of one"),
        (["home"], 64, "attic is a host", "meshctl budget boot home --log -"),
        (["chat", "--log", "gone.log"], 64, "the log cannot be read: No such file", "name another"),
        (["chat", "--log", "boot.log", "--revision", "r"], 64, "do not go together", "leave one"),
        (["chat", "--log", "meshctl.yaml"], 9, "no boot of llama-server in it", "another engine"),
        (["--log", "meshctl.yaml"], 9, "no boot of vLLM or llama-server", "at its beginning"),
    ],
)
def test_what_is_no_question_is_refused_with_the_way_out(
    words: list[str], code: int, message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = asked(capsys, "boot", *words, code=code)

    assert message in error["message"]
    assert hint in error["hint"]


def test_people_read_it_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["budget", "boot", "long", "--log", "boot.log"])
    told = capsys.readouterr().out

    assert code == 9
    assert told.startswith("✗ shrunk, and remembered for the next plan\n")
    assert "  context of a request  32,768" in told
    assert "28,672 less" in told
    assert max(map(len, told.splitlines())) <= 80


def test_its_name_is_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    good = BudgetBoot.model_validate(asked(capsys, "boot", "chat", "--log", "boot.log"))
    bad = BudgetBoot.model_validate(asked(capsys, "boot", "long", "--log", "boot.log", code=9))

    assert (names(good), names(bad)) == (["booted"], ["shrunk"])
    assert render(good)[0] == "✓ booted, and remembered for the next plan"


def entries(log: str, instance: str, hour: int) -> list[dict[str, Any]]:
    return [{"timestamp": f"2026-11-30T{hour:02d}:00:{n:02d}Z", "insertId": f"{instance}{n}",
             "labels": {"instanceId": instance}, "textPayload": line}
            for n, line in enumerate(log.splitlines())]  # fmt: skip


def test_of_many_instances_the_newest_that_came_up_counts_however_they_are_mixed() -> None:
    old, new = entries(LLAMA, "a", 1), entries(LLAMA.replace("1024.00", "2048.00"), "b", 2)
    dying = entries(LLAMA.split("0.03")[0], "c", 3)
    mixed = [one for pair in zip(old, new, strict=True) for one in pair]

    found = newest_boot([*reversed(dying), *reversed(mixed)], "llama-server", "small")

    assert "\n".join(found) == "\n".join(one["textPayload"] for one in new)


def test_an_entry_without_labels_is_of_an_instance_too() -> None:
    bare = [{**one, "labels": label} for one, label in zip(
        entries(LLAMA, "a", 1), [None, 5, {}] * 99, strict=False)]  # fmt: skip

    found = newest_boot(list(reversed(bare)), "llama-server", "small")

    assert len(found) == len(LLAMA.splitlines())
