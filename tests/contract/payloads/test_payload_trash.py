"""`meshctl payload retire`, `restore`, `purge` and `list` as processes, on files in use."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshctl.outside.clock import SystemClock
from meshctl.outside.moves import alone
from meshctl.outside.objects import DirStore
from meshctl.state.journal import Event, Journal, run_name
from meshctl.ui.payload_upkeep import PayloadList, PayloadPurge, PayloadRestore, PayloadRetire
from tests.contract.payloads.commands import answer, run

FLEET = """
meshctl: 1
fleet: birds
targets: {local: {kind: cloudrun, project: local, region: local1}%s}
images: {mesh: {ref: "example.org/mesh@sha256:%s"}}
payloads:
  wren: {source: "hub:o/m@%s", files: {wren.gguf: {bytes: 9, sha256: "%s"}}}
  redstart: {source: "hub:o/m@%s", files: {redstart.gguf: {bytes: 13, sha256: "%s"}}}
services:
  chat: {target: local, image: mesh, args: [mesh], models: {wren: {payload: wren}},
         env: {FALLBACK: "${X:-/models/heron.gguf}"}}
"""


def fleet(folder: Path, more_targets: str = "") -> Path:
    """A fleet that uses wren, and a folder with more than that."""
    text = FLEET % (more_targets, "1" * 64, "0" * 40, "2" * 64, "0" * 40, "3" * 64)
    (folder / "meshctl.yaml").write_text(text.replace("${X", "$${X"))
    for name in ("wren/wren.gguf", "redstart/redstart.gguf", "heron.gguf", "rookery/egret.gguf",
                 "rookery/stork.gguf"):  # fmt: skip
        file = folder / "models" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(file.stem.encode() + b".gguf")
    return folder / "models"


def retired(folder: Path, *words: str, code: int = 0) -> Any:
    document = answer(folder, "retire", "--at", "models", *words, code=code)
    assert PayloadRetire.model_validate(document).data() == document
    assert document["exit_code"] == code
    return document


def test_what_the_fleet_refers_to_is_refused_by_name(tmp_path: Path) -> None:
    models = fleet(tmp_path)

    used = retired(tmp_path, "wren", "--yes", code=8)
    fallback = retired(tmp_path, "models/heron.gguf", "--yes", code=8)

    assert {(one["path"], one["where"]) for one in used["references"]} == {
        ("wren/wren.gguf", "services.chat.models.wren")
    }
    assert [one["where"] for one in fallback["references"]] == ["services.chat.env.FALLBACK"]
    assert used["hint"] and not (models / ".meshctl-trash").exists()


def test_a_folder_is_refused_whole_while_one_of_its_files_lives(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    env = tmp_path / "frank.env"
    env.write_text('MODEL="${MODEL:-/srv/egret.gguf}"\n')

    whole = retired(tmp_path, "models/rookery", "--search", "frank.env", "--yes", code=8)
    alone = retired(tmp_path, "models/rookery/stork.gguf", "--search", "frank.env", "--yes")
    twice = retired(tmp_path, "models/rookery/stork.gguf", "--search", "frank.env", "--yes")

    assert [(one["path"], one["where"]) for one in whole["references"]] == [
        ("rookery/egret.gguf", "frank.env")
    ]
    assert whole["hint"].endswith("meshctl payload retire models/rookery/stork.gguf --at models")
    assert [row["status"] for row in twice["items"]] == ["there"]
    assert (alone["verdict"], alone["stays"]) == ("retired", ["rookery/egret.gguf"])
    assert "one by one" in alone["warning"]
    assert (models / "rookery/egret.gguf").exists() and not (models / "rookery/stork.gguf").exists()


def test_who_cannot_be_searched_makes_it_unclear_and_is_passed_over_by_name(
    tmp_path: Path,
) -> None:
    models = fleet(tmp_path, ', attic: {kind: podman, address: "ops@attic"}')
    words = ("redstart", "--yes", "--search", "gone.env")

    unclear = retired(tmp_path, *words, code=7)
    half = retired(tmp_path, *words, "--ignore", "gone.env", "--reason", "it is old", code=7)
    no_reason = run(tmp_path, "payload", "retire", "redstart", "--at", "models", "--ignore", "x")[0]
    done = retired(
        tmp_path, *words, "--ignore", "gone.env", "--ignore", "targets.attic", "--reason", "read"
    )

    assert {one["where"] for one in unclear["unsearched"]} == {"gone.env", "targets.attic"}
    assert [one["where"] for one in half["unsearched"]] == ["targets.attic"]
    assert (no_reason, done["verdict"]) == (64, "retired")
    (manifest,) = models.glob(".meshctl-trash/*/manifest.json")
    said = json.loads(manifest.read_text())
    assert (said["reason"], said["ignored"]) == ("read", ["gone.env", "targets.attic"])


HOLD = "import sys; exec(sys.stdin.readline()); print(1, flush=True); sys.stdin.read()"
OPEN = "f = open('models/rookery/NAME')"
MAPPED = (
    f"import ctypes; {OPEN}; c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; "
    "assert c.mmap(None, ctypes.c_size_t(4), 1, 1, f.fileno(), ctypes.c_long(0)); f.close()"
)
HAS = "has it open or mapped"
USES = {
    "open": (OPEN, "", "", HAS),
    "mapped": (MAPPED, "", "", HAS),
    "words": ("", "/inside/NAME", "", "/inside/NAME"),
    "environment": ("", "", "canary NAME", "NAME"),
}
"""What a process does, its argument, its variable, and what is said of it."""


@contextlib.contextmanager
def user(folder: Path, use: str, name: str) -> Iterator[int]:
    """A process that uses the file in one way, and does so by now."""
    code, word, variable, _ = (text.replace("NAME", name) for text in USES[use])
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, word], cwd=folder, env={"DRAFT": variable}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        process.stdin.write(f"{code}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1\n"
        yield process.pid
        process.kill()


@pytest.mark.parametrize("use", USES)
def test_what_a_process_of_this_machine_uses_is_refused(tmp_path: Path, use: str) -> None:
    """By a name that no other test has: it is searched in every process of the machine."""
    name = f"{use}-{os.getpid()}.gguf"
    (fleet(tmp_path) / "rookery" / name).write_text("bird")
    with user(tmp_path, use, name) as pid:
        refused = retired(tmp_path, f"models/rookery/{name}", "--yes", code=8)

    (found,) = refused["references"]
    assert found["where"].startswith(f"process {pid} (")
    assert found["said"] == USES[use][3].replace("NAME", name), "and nothing else of its variable"


def test_a_link_beside_it_is_a_reference_and_is_not_followed_itself(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    (models / "current.gguf").symlink_to("rookery/stork.gguf")

    used = retired(tmp_path, "models/rookery/stork.gguf", "--yes", code=8)
    code, _, said = run(tmp_path, "payload", "retire", "models/current.gguf", "--at", "models")

    assert [one["where"] for one in used["references"]] == ["the link current.gguf"]
    assert (code, "a link to rookery/stork.gguf" in said) == (8, True)


HOSTILE = ("it's $(touch canary).gguf", "-rf.gguf", 'two\nlines".gguf', "`touch canary`.gguf")


def test_the_command_in_the_manifest_brings_any_name_back(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    for name in HOSTILE:
        (models / "rookery" / name).write_text(name)
    done = retired(tmp_path, *(f"models/rookery/{name}" for name in HOSTILE), "--yes")
    gone = [name for name in HOSTILE if not (models / "rookery" / name).exists()]
    (models / "rookery" / HOSTILE[1]).write_text("newer")

    for row in done["items"]:
        subprocess.run(["sh", "-c", row["restore"]], cwd="/", timeout=30, check=False)

    back = {name: (models / "rookery" / name).read_text() for name in HOSTILE}
    assert gone == list(HOSTILE)
    assert back == {name: name for name in HOSTILE} | {HOSTILE[1]: "newer"}
    assert not list(tmp_path.rglob("canary"))
    (text,) = models.glob(".meshctl-trash/*/RESTORE.txt")
    assert all(row["restore"] in text.read_text() for row in done["items"])


def test_retire_restore_and_purge_go_round(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    dry = retired(tmp_path, "redstart", "--dry-run")
    asked = run(tmp_path, "payload", "retire", "redstart", "--at", "models")
    item = retired(tmp_path, "redstart", "--yes")["items"][0]["item"]
    back = [answer(tmp_path, "restore", item, "--at", "models") for _ in range(2)]
    here = (models / "redstart/redstart.gguf").read_bytes()
    retired(tmp_path, "redstart", "--yes")
    young = answer(tmp_path, "purge", "--at", "models", "--yes")
    unasked = run(tmp_path, "payload", "purge", "--at", "models", "--grace", "0s")
    gone = answer(tmp_path, "purge", "--at", "models", "--grace", "0s", "--yes")

    assert (dry["verdict"], asked[0], "--yes" in asked[2]) == ("free", 64, True)
    statuses = [PayloadRestore.model_validate(one).items[0].status for one in back]
    assert (statuses, here) == (["restored", "there"], b"redstart.gguf")
    assert [(row["verdict"], row["status"]) for row in young["items"]] == [("kept", "found")]
    assert unasked[0] == 64
    assert "no journal in .meshctl/state" in gone["notes"][0], "and so no release was asked about"
    assert [row.status for row in PayloadPurge.model_validate(gone).items] == ["removed"]
    assert gone["freed"] > 0 and not list((models / ".meshctl-trash").iterdir())


def test_what_a_release_can_go_back_to_is_purged_only_on_somebodys_word(tmp_path: Path) -> None:
    fleet(tmp_path)
    _served(tmp_path, {"redstart/redstart.gguf": [13, "3" * 64]})
    retired(tmp_path, "redstart", "--yes")
    words = ("--at", "models", "--grace", "0s", "--yes")

    kept = answer(tmp_path, "purge", *words)
    named = answer(tmp_path, "purge", "redstart.gguf", *words, code=8)
    taken = ("purge", "redstart.gguf", *words, "--even-rollback")
    no_reason = answer(tmp_path, *taken, code=64)
    gone = answer(tmp_path, *taken, "--reason", "it can be fetched")

    assert "release r1 of chat can still be rolled back to" in kept["items"][0]["why"]
    assert "release r1 of chat" in named["message"] and "--reason" in no_reason["hint"]
    assert gone["items"][0]["status"] == "removed"


def _served(folder: Path, files: dict[str, Any]) -> None:
    store = DirStore(folder / ".meshctl/state")
    run = run_name("chat", "local:local1", "2026-11-30T20:45:00.000000Z", "salt")
    plan = {"to_release": "r1", "steps": [{"act": {"act": "stage-release", "files": files}}]}
    journal = Journal(store, run)
    opened = {"verb": "deploy", "release": "r1", "revision": "v1", "plan": plan}
    journal.append(Event(at="2026-11-30T20:45:00.000000Z", kind="opened", data=opened))
    ended = {"exit_code": 0, "verdict": "pass", "served": True}
    journal.append(Event(at="2026-11-30T20:45:01.000000Z", kind="closed", data=ended))


def test_a_trash_that_somebody_changes_now_is_not_changed_by_another(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    with alone(models / ".meshctl-trash", SystemClock(), 0):
        refused = answer(tmp_path, "retire", "redstart", "--at", "models", "--yes", code=5)

    assert "another process" in refused["message"]
    assert (models / "redstart/redstart.gguf").exists()


def test_the_disk_is_listed_in_real_blocks_and_says_what_could_go(tmp_path: Path) -> None:
    models = fleet(tmp_path)
    with (models / "rookery/crane.gguf").open("wb") as file:
        file.truncate(2**30)
    (models / ".ibis.gguf.part").write_bytes(bytes(8192))
    cache = tmp_path / "home/.cache/pip/wheel"
    cache.parent.mkdir(parents=True)
    cache.write_bytes(bytes(8192))
    retired(tmp_path, "redstart", "--yes")

    document = answer(tmp_path, "list", "--disk", "--at", "models")
    table = run(tmp_path, "payload", "list", "--disk", "--at", "models")[1]

    assert PayloadList.model_validate(document).data() == document
    rows = {
        (one["what"], one["path"].rpartition("/")[2]): one for one in document["disk"]["entries"]
    }
    assert rows["payload", "wren"]["reclaimable"] is False
    assert rows["payload", "heron.gguf"]["why"] == "services.chat.env.FALLBACK"
    assert (rows["partial", ".ibis.gguf.part"]["bytes"], rows["cache", "pip"]["bytes"]) == (
        8192,
    ) * 2
    nest = rows["unreferenced", "rookery"]
    assert (nest["files"], nest["reclaimable"]) == (3, True)
    assert nest["apparent"] > 2**30 > 10**6 > nest["bytes"], "a sparse file is no gigabyte"
    assert any(one["what"] == "trash" for one in document["disk"]["entries"])
    assert {row["name"]: row["there"] for row in document["payloads"]} == {"wren": 1, "redstart": 0}
    assert "could go" in table and "wren is used by: services.chat.models.wren" in table


def test_without_a_fleet_file_nothing_is_called_free(tmp_path: Path) -> None:
    fleet(tmp_path)
    (tmp_path / "meshctl.yaml").unlink()

    unclear = retired(tmp_path, "models/rookery/stork.gguf", "--yes", code=7)
    listed = answer(tmp_path, "list", "--disk", "--at", "models")["disk"]

    assert [one["where"] for one in unclear["unsearched"]] == ["the fleet file"]
    assert (listed["reclaimable"], listed["unknown"] > 0) == (0, True)
