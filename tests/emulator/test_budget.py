"""The memory budget through the real meshctl: a header in a bucket decides beforehand."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Client

from meshctl.ui.budget import Budget
from tests.emulator.bench import Bench, Result
from tests.fakes import model_files

CARD = {"gpu": "nvidia-l4", "cpu": 4, "memory": "16Gi"}
KEYS = {
    "general.architecture": "llama", "llama.block_count": 32, "llama.embedding_length": 4096,
    "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
    "llama.context_length": 131_072, "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["a", "b"],
}  # fmt: skip
"""128 KiB a token: 131,072 of them are 16 GiB."""
NAME = "m.gguf"


def model(gib: int, **keys: Any) -> bytes:
    """The header of a model of so many GiB, without them: nothing else of it is read."""
    whole = model_files.gguf(KEYS | keys, {"blk.0.ffn_up.weight": ("F16", (32, 1))})
    at = whole.index(b"blk.0.ffn_up.weight") + len("blk.0.ffn_up.weight") + 4
    rows = gib * 2**30 // 64
    return whole[: at + 8] + rows.to_bytes(8, "little") + whole[at + 16 :]


def put(bench: Bench, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay a payload into a bucket of its own and declare it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    options = {"api_endpoint": bench.url}
    client = Client(project="local", credentials=AnonymousCredentials(), client_options=options)
    client.bucket(bench.name).create()
    client.bucket(bench.name).blob(f"p/{NAME}").upload_from_string(data)
    file = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    bench.payloads = {"p": {"source": f"gs://{bench.name}/p", "files": {NAME: file}}}


def declare(bench: Bench, context: int, **changed: Any) -> None:
    bench.declare(
        resources=changed.pop("resources", CARD),
        models={"small": {"payload": "p", "context": context}},
        deliver="mount", **changed,
    )  # fmt: skip


def reads(result: Result) -> list[str]:
    """The requests for the payload, as -v tells them."""
    return [line for line in result.err.splitlines() if NAME in line]


def test_what_cannot_fit_is_refused_before_anything_changes_and_less_context_is_deployed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench, model(8), monkeypatch)
    declare(bench, 131_072)

    planned = bench.json("plan", "chat", code=8)
    refused = bench.json("deploy", "chat", "-y", code=8)
    nothing = bench.service()
    shown = bench.json("budget", "show", "chat", code=9)
    declare(bench, shown["contexts"][0]["fits_tokens"])
    deployed = bench.deploy("chat")

    (reason,) = planned["services"][0]["refused"]
    assert "small does not fit on L4: weights 8 GiB, caches 16 GiB" in reason["message"]
    assert "`meshctl budget show chat --why`" in reason["hint"]
    assert reason["place"].startswith(str(bench.file))
    assert reason["message"] in refused["message"]
    assert nothing is None
    assert Budget.model_validate(shown).data() == shown
    assert (shown["verdict"], shown["binds"], shown["device"]["name"]) == (
        "no",
        "device_bytes",
        "L4",
    )
    assert (deployed["verdict"], deployed["exit_code"]) == ("pass", 0)


def test_a_person_who_knows_better_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bench, model(8), monkeypatch)
    declare(bench, 131_072)

    deployed = bench.deploy("chat", "--despite-budget")

    assert deployed["verdict"] == "pass"


def test_doubt_is_a_note_and_no_refusal(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bench, model(8, **{"general.architecture": "tomorrow"}), monkeypatch)
    declare(bench, 8192)

    planned = bench.json("plan", "chat")
    shown = bench.meshctl("budget", "show", "chat")

    (note,) = [n for n in planned["services"][0]["notes"] if n.startswith("memory: ")]
    assert "whether small fits on L4 is unknown: no rule for the architecture 'tomorrow'" in note
    assert (shown.code, shown.out.splitlines()[0]) == (9, "? unknown: model binds")


def test_headers_are_read_once_for_all_and_of_no_service_without_a_card(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench, model(8), monkeypatch)
    declare(bench, 8192)
    one = bench.meshctl("-v", "plan")
    bench.declare("twin", **{**bench.services["chat"], "name": f"{bench.name}-twin"})

    two = bench.meshctl("-v", "plan")
    for key in ("chat", "twin"):
        bench.declare(key, resources={"cpu": 4, "memory": "16Gi"})
    none = bench.meshctl("-v", "plan")

    assert (one.code, two.code, none.code) == (0, 0, 0), two.err + none.err
    assert len(reads(one)) == len(reads(two)) == 2, "what it is, and its first bytes"
    assert reads(none) == []
    assert "memory budget" not in none.out, "nothing was to be asked, so nothing is missing"
    assert "memory budget" not in two.out


def test_the_picture_is_drawn_beside_the_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(bench, model(8), monkeypatch)
    declare(bench, 8192)
    picture = tmp_path / "chat.svg"

    shown = bench.meshctl("budget", "show", "chat", "--picture", str(picture))

    assert (shown.code, shown.out.splitlines()[0]) == (0, "✓ fits")
    assert max(len(line) for line in shown.out.splitlines()) <= 80
    assert picture.read_text().startswith("<svg ")
