"""`meshctl payload` as a process: files, a web server, a hub with its store, a fleet's payloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshctl.ui.payloads import Payload, PayloadCompare
from tests.fakes.model_files import LLAMA, gguf, part_name, parts, weights
from tests.fakes.range_server import RangeServer, hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CANARY = "hf_canarycanarycanary"
BIG = gguf({**LLAMA, "tokenizer.ggml.tokens": [f"token{n:06}" for n in range(262_144)],
            "tokenizer.ggml.merges": [f"me rge{n:06}" for n in range(250_000)]})  # fmt: skip
KEYS = (
    "kind source format architecture parameters bytes bytes_per_parameter quantisation "
    "context_length tensors split chat_template_sha256 tokenizer_sha256 draft_head verdict problems"
)


def run(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "AWS_", "R2_"))}
    return subprocess.run(
        [sys.executable, "-m", "meshctl", *words], cwd=folder,
        env={**clean, "HF_HOME": "/nowhere", **environ},
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def inspected(folder: Path, *words: str, code: int = 0, **environ: str) -> Any:
    done = run(folder, "-o", "json", "payload", "inspect", *words, **environ)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    document = json.loads(done.stdout)
    assert Payload.model_validate(document).data() == document
    return document


def test_a_file_is_told_in_json_with_the_agreed_keys_and_in_80_columns(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(gguf())

    document = inspected(tmp_path, "tiny.gguf", "--expect", "q8_0")
    table = run(tmp_path, "payload", "inspect", "tiny.gguf")

    assert list(document) == KEYS.split()
    assert document["tensors"]["by_type"]["Q8_0"] == {"count": 3, "bytes": 104448}
    assert max(map(len, table.stdout.splitlines())) <= 80
    assert "Q8_0" in table.stdout and "✓ pass" in table.stdout


def test_what_is_not_what_was_expected_exits_9_and_prints_its_json_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(gguf(LLAMA, weights("Q4_K")))

    document = inspected(tmp_path, "tiny.gguf", "--expect", "q8_0", code=9)

    assert (document["verdict"], document["problems"][0]["id"]) == ("fail", "expect")
    assert run(tmp_path, "payload", "inspect", "tiny.gguf", "--expect", "q9").returncode == 64


def test_a_server_is_asked_twice_and_for_16_mb_at_most(tmp_path: Path) -> None:
    with RangeServer({"/m/big.gguf": BIG + bytes(30_000_000)}) as server:
        document = inspected(tmp_path, f"{server.url}/m/big.gguf", code=9)

    assert [one["id"] for one in document["problems"]] == ["trailing-bytes"]
    ranges = [wanted for _, wanted, _ in server.asked]
    assert ranges[:2] == ["bytes=0-7999999", "bytes=8000000-15999999"]
    assert len(ranges) == 3, "the third looks at four bytes behind the last tensor"


def test_a_set_on_a_server_is_read_as_a_set(tmp_path: Path) -> None:
    files = {f"/m/{part_name(n, 3)}": data for n, data in enumerate(parts(3), start=1)}
    with RangeServer(files) as server:
        whole = inspected(tmp_path, f"{server.url}/m/{part_name(1, 3)}")
        del files[f"/m/{part_name(3, 3)}"]
        short = inspected(tmp_path, f"{server.url}/m/{part_name(1, 3)}", code=9)

    assert (whole["split"], whole["tensors"]["count"]) == ({"index": 1, "count": 3}, 3)
    assert [one["id"] for one in short["problems"]] == ["missing-part"]


@pytest.mark.parametrize(
    ("vice", "code", "said"),
    [
        ("no-ranges", 8, "knows no ranges"),
        ("lying-range", 6, "asked for bytes"),
        ("changing", 8, "changed while it was read"),
        ("busy", 6, "wait 55 s"),
        ("gated", 8, "gated"),
    ],
)
def test_a_server_that_misbehaves_is_refused(
    vice: str, code: int, said: str, tmp_path: Path
) -> None:
    with RangeServer({"/big.gguf": BIG}, vice=vice) as server:
        done = run(tmp_path, "payload", "inspect", f"{server.url}/big.gguf")

    assert (done.returncode, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split()), done.stderr


def test_a_small_file_of_a_server_without_ranges_was_sent_whole_and_is_read(
    tmp_path: Path,
) -> None:
    with RangeServer({"/tiny.gguf": gguf()}, vice="no-ranges") as server:
        assert inspected(tmp_path, f"{server.url}/tiny.gguf")["bytes"] == len(gguf())


def test_the_hub_gets_the_token_and_its_store_never_does(tmp_path: Path) -> None:
    path = f"/org/model/resolve/{COMMIT}/Q8_0/tiny.gguf"
    source = f"hub:org/model@{COMMIT}/Q8_0/tiny.gguf"
    with hub({path: gguf()}, token=CANARY, linked_size=len(gguf())) as (front, store):
        done = run(tmp_path, "-v", "-o", "json", "payload", "inspect", source,
                   HF_ENDPOINT=front.url, HF_TOKEN=CANARY)  # fmt: skip
        without = run(tmp_path, "payload", "inspect", source, HF_ENDPOINT=front.url)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"] == source
    assert [said for _, _, said in front.asked] == [f"Bearer {CANARY}", ""]
    assert [said for _, _, said in store.asked] == [""]
    printed = done.stdout + done.stderr + without.stdout + without.stderr
    assert CANARY not in printed and "signature" not in printed
    assert without.returncode == 64
    assert "HF_TOKEN" in without.stderr


def test_a_store_that_holds_another_size_than_the_hub_says_is_refused(tmp_path: Path) -> None:
    path = f"/org/model/resolve/{COMMIT}/tiny.gguf"
    with hub({path: gguf()}, linked_size=len(gguf()) + 1) as (front, _):
        done = run(tmp_path, "payload", "inspect", f"hub:org/model@{COMMIT}/tiny.gguf",
                   HF_ENDPOINT=front.url)  # fmt: skip

    assert (done.returncode, "the hub says" in done.stderr) == (8, True)


def test_the_hub_is_asked_for_one_commit_only(tmp_path: Path) -> None:
    done = run(tmp_path, "payload", "inspect", "hub:org/model@main/tiny.gguf")

    assert done.returncode == 64
    assert "40 hex digits" in " ".join(done.stderr.split())


FLEET = """
meshctl: 1
fleet: tiny
targets:
  gcp: {{kind: cloudrun, project: p-123456, region: us-central1}}
payloads:
  tiny:
    source: "file:models"
    files: {{tiny.gguf: {{bytes: {bytes}, sha256: "{sha}"}}, mmproj-x.gguf: {{bytes: 1, sha256: "{sha}"}}}}
  knot:
    source: "file:models/tiny.knot"
    format: opaque
    parameters: 1000
    files: {{tiny.knot: {{bytes: 1062, sha256: "{sha}"}}}}
"""  # noqa: E501


def fleet(folder: Path, size: int) -> None:
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "tiny.gguf").write_bytes(gguf())
    (folder / "models" / "tiny.knot").write_bytes(b"\x05" * 1062)
    (folder / "meshctl.yaml").write_text(FLEET.format(bytes=size, sha="2" * 64))


def test_a_payload_of_the_fleet_goes_by_its_name(tmp_path: Path) -> None:
    fleet(tmp_path, len(gguf()))

    assert inspected(tmp_path, "tiny")["quantisation"] == "Q8_0"
    assert inspected(tmp_path, "knot", "--expect", "q8_0")["bytes_per_parameter"] == 1.062
    unknown = run(tmp_path, "payload", "inspect", "tinny")
    assert (unknown.returncode, 'mean "tiny"' in unknown.stderr) == (64, True)


def test_a_payload_of_another_size_than_the_fleet_declares_is_named(tmp_path: Path) -> None:
    fleet(tmp_path, 4711)

    document = inspected(tmp_path, "tiny", code=9)

    assert [one["id"] for one in document["problems"]] == ["size"]


def test_compare_exits_0_for_a_drop_in_and_else_9(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(gguf())
    (tmp_path / "b.gguf").write_bytes(gguf({**LLAMA, "general.name": "other"}))
    (tmp_path / "c.gguf").write_bytes(gguf(LLAMA, weights("Q4_K")))
    (tmp_path / "d.gguf").write_bytes(gguf()[:-999])

    alike = run(tmp_path, "-o", "json", "payload", "compare", "a.gguf", "b.gguf")
    other = run(tmp_path, "payload", "compare", "a.gguf", "c.gguf")
    broken = run(tmp_path, "payload", "compare", "a.gguf", "d.gguf")

    document = json.loads(alike.stdout)
    assert PayloadCompare.model_validate(document).data() == document
    assert (alike.returncode, document["verdict"]) == (0, "drop-in")
    assert set(document["differences"][0]) == {"path", "a", "b", "matters", "why"}
    assert (other.returncode, "same-model" in other.stdout) == (9, True)
    assert max(map(len, other.stdout.splitlines())) <= 80
    assert (broken.returncode, "truncated" in broken.stderr) == (9, True)


def test_a_folder_or_a_pipe_is_no_file_and_waits_for_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")

    for name in (".", "./pipe.gguf", "./gone.gguf"):
        assert run(tmp_path, "payload", "inspect", name).returncode == 64
