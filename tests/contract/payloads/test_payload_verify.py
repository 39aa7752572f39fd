"""`meshctl payload verify` as a process: what is wrong is found, and only that is fetched again."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshctl.payloads.verify import Declared, prove
from meshctl.ui.payload_upkeep import PayloadVerify
from tests.contract.payloads.commands import answer, run, start
from tests.fakes.model_files import part_name, parts
from tests.fakes.model_hub import ModelHub

MB = 2**20
FILES = {name: random.Random(name).randbytes(2 * MB) for name in ("wren.bin", "sub/wren.bin")}
FLEET = """
meshctl: 1
fleet: tiny
targets: {local: {kind: cloudrun, project: local, region: local1}}
payloads: {birds: {source: "%s", files: %s}}
"""


def fleet(hub: ModelHub, folder: Path) -> Path:
    """A fleet that declares the files of the hub, and the files as a fetch leaves them."""
    declared = json.dumps({name: hub.declared(name) for name in hub.contents})
    (folder / "meshctl.yaml").write_text(FLEET % (hub.source("").rstrip("/"), declared))
    answer(folder, "fetch", "birds", "--to", "models", HF_ENDPOINT=hub.url)
    return folder / "models/birds"


def verified(folder: Path, hub: ModelHub, *words: str, code: int = 0) -> dict[str, Any]:
    document = answer(folder, "verify", *words, code=code, HF_ENDPOINT=hub.url)
    assert PayloadVerify.model_validate(document).data() == document
    return {row["path"].removeprefix("models/birds/"): row for row in document["files"]}


def flip(file: Path, place: int = MB) -> bytes:
    """Change one byte, as a bad disk does: size and time of change stay."""
    was, data = file.stat(), bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    return bytes(data)


def test_a_corrupt_byte_is_found_and_only_its_file_is_fetched_again(tmp_path: Path) -> None:
    with ModelHub(FILES) as hub:
        home = fleet(hub, tmp_path)
        good = verified(tmp_path, hub, "--at", "models")
        flip(home / "sub/wren.bin")
        bad = verified(tmp_path, hub, "birds", "--at", "models", code=9)
        before = hub.sent
        mended = verified(tmp_path, hub, "--at", "models", "--repair")
        sent = hub.sent - before
        again = verified(tmp_path, hub, "--at", "models")

    assert {row["verdict"] for row in good.values()} == {"pass"}
    assert (bad["sub/wren.bin"]["verdict"], bad["wren.bin"]["verdict"]) == ("fail", "pass")
    assert [mended[name]["repaired"] for name in ("sub/wren.bin", "wren.bin")] == [True, False]
    assert 2 * MB <= sent < 3 * MB, "the good file was not fetched"
    assert {row["verdict"] for row in again.values()} == {"pass"}
    assert (home / "sub/wren.bin").read_bytes() == FILES["sub/wren.bin"]
    assert not [path for path in home.rglob("*") if path.name.startswith(".")]


def test_a_bad_file_stays_until_the_right_one_is_proved(tmp_path: Path) -> None:
    with ModelHub(FILES) as hub:
        home = fleet(hub, tmp_path)
        bad = flip(home / "wren.bin")
        hub.flip = 5
        failed = verified(tmp_path, hub, "birds", "--at", "models", "--repair", code=9)

        assert "not repaired: wren.bin: expected" in failed["wren.bin"]["why"]
        assert (home / "wren.bin").read_bytes() == bad


def test_a_repair_that_was_killed_is_ended_by_the_next(tmp_path: Path) -> None:
    with ModelHub(FILES) as hub:
        home = fleet(hub, tmp_path)
        bad = flip(home / "wren.bin")
        reached, begun = threading.Event(), hub.sent
        hub.before = lambda sent: reached.set() if sent > begun + MB else None
        hub.chunk_s = 0.01
        words = ("payload", "verify", "birds", "--at", "models", "--repair")
        process = start(tmp_path, *words, HF_ENDPOINT=hub.url)
        assert reached.wait(60), process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        between = (home / "wren.bin").read_bytes()
        hub.chunk_s = 0.0
        mended = verified(tmp_path, hub, "birds", "--at", "models", "--repair")

    assert between == bad
    assert mended["wren.bin"]["verdict"] == "pass"
    assert (home / "wren.bin").read_bytes() == FILES["wren.bin"]


def test_a_file_without_a_fleet_is_held_to_its_manifest_and_a_lost_one_comes_again(
    tmp_path: Path,
) -> None:
    with ModelHub(FILES) as hub:
        answer(tmp_path, "fetch", hub.source("wren.bin"), "--to", "m", HF_ENDPOINT=hub.url)
        file = tmp_path / "m/wren.bin"
        good = verified(tmp_path, hub, "m/wren.bin")
        file.unlink()
        lost = verified(tmp_path, hub, "--at", "m", code=9)
        verified(tmp_path, hub, "m", "--repair")

    assert "the sha256 that the hub names" in good["m/wren.bin"]["by"]
    assert (lost["m/wren.bin"]["verdict"], lost["m/wren.bin"]["bytes"]) == ("fail", None)
    assert file.read_bytes() == FILES["wren.bin"]


def test_parts_that_are_each_right_and_no_set_do_not_pass(tmp_path: Path) -> None:
    files = {part_name(n, 3): data for n, data in enumerate(parts(3), start=1)}
    with ModelHub(files) as hub:
        for name in files:
            answer(tmp_path, "fetch", hub.source(name), "--to", "m", HF_ENDPOINT=hub.url)
        whole = answer(tmp_path, "verify", "--at", "m")
        for path in (tmp_path / "m").glob(f"{part_name(2, 3)}*"):
            path.unlink()
        short = answer(tmp_path, "verify", "--at", "m", code=9)

    assert [one["verdict"] for one in whole["sets"]] == ["pass"]
    assert {row["verdict"] for row in short["files"]} == {"pass"}
    assert "missing-part" in short["sets"][0]["problems"][0]


def test_it_is_told_in_80_columns_and_with_nothing_to_verify_it_is_refused(tmp_path: Path) -> None:
    with ModelHub(FILES) as hub:
        home = fleet(hub, tmp_path)
        flip(home / "wren.bin")
        code, out, err = run(tmp_path, "payload", "verify", "birds", "--at", "models")

    assert (code, err) == (9, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "✗ fail     models/birds/wren.bin  2 MiB" in out and "1 of 2 files are not" in out
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "payload", "verify")[0] == 64
    assert run(tmp_path, "payload", "verify", "bird")[0] == 64


ROUNDS = 12
ALLOWED = 1.15


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to compare with")
def test_it_is_as_fast_as_openssl_on_the_same_files(tmp_path: Path) -> None:
    """By the clock, or by what it takes of the processors: while others work on the machine, the
    clock tells of them. The best of rounds that take turns; it ends when it is shown."""
    block = random.Random(3).randbytes(MB)
    files = [tmp_path / f"{number}.bin" for number in range(3)]
    for file in files:
        file.write_bytes(block * 96)
    wanted = [Declared(file, None, None, "") for file in files]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(_cost(lambda: _openssl(files), resource.RUSAGE_CHILDREN))
        ours.append(_cost(lambda: prove(wanted), resource.RUSAGE_SELF))
        best = [[min(column) for column in zip(*rows, strict=True)] for rows in (ours, theirs)]
        if any(mine <= ALLOWED * other for mine, other in zip(*best, strict=True)):
            return

    pytest.fail(f"clock and processor seconds: {best[0]}, openssl {best[1]}")


def _openssl(files: list[Path]) -> None:
    words = ["openssl", "dgst", "-sha256", *map(str, files)]
    subprocess.run(words, check=True, capture_output=True, timeout=120)


def _cost(act: Callable[[], object], whose: int) -> tuple[float, float]:
    """Seconds of the clock, and of processors."""
    began, used = time.monotonic(), _processor(whose)
    act()
    return time.monotonic() - began, _processor(whose) - used


def _processor(whose: int) -> float:
    found = resource.getrusage(whose)
    return found.ru_utime + found.ru_stime
