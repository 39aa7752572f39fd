"""An upload of 304 MiB outlives the process that began it, and a build the one that started it."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

from tests.emulator.bench import Bench, call

CHUNK = 8 * 2**20
SIZE = 38 * CHUNK
PUT = re.compile(r"storage put bytes (\d+)-(\d+)/(\d+)")


def sent(stderr: str) -> list[tuple[int, int]]:
    """Every chunk that a process put, as (first byte, one past the last)."""
    return [(int(m[1]), int(m[2]) + 1) for m in PUT.finditer(stderr)]


def killed_at(bench: Bench, share: float) -> list[tuple[int, int]]:
    """Start the build, kill it -9 once it puts beyond this share of the archive; what it put."""
    process = bench.start("-v", "build", "other")
    assert process.stderr
    told = ""
    for line in process.stderr:
        told += line
        chunks = sent(line)
        if chunks and chunks[0][0] >= share * SIZE:
            break
    process.send_signal(signal.SIGKILL)
    told += process.communicate()[1]
    return sent(told)


def own_context(bench: Bench) -> Path:
    """A context of this test's own; the shared one is a link."""
    shared = (bench.folder / "context").resolve()
    (bench.folder / "context").unlink()
    shutil.copytree(shared, bench.folder / "context")
    return bench.folder / "context"


def test_a_killed_upload_goes_on_where_it_was_and_sends_only_the_rest(bench: Bench) -> None:
    with (own_context(bench) / "weights").open("wb") as file:
        for _ in range(SIZE // CHUNK):
            file.write(os.urandom(CHUNK))

    first, second = killed_at(bench, 0.3), killed_at(bench, 0.9)
    last = bench.meshctl("-v", "-o", "json", "build", "other")

    assert last.code == 0, last.err
    assert first[0][0] == 0
    assert second[0][0] >= first[-1][0] and first[-1][0] >= 0.3 * SIZE
    assert sent(last.err)[0][0] >= second[-1][0] and second[-1][0] >= 0.9 * SIZE
    assert sum(end - start for start, end in sent(last.err)) < 0.1 * SIZE + CHUNK
    assert "goes on where it was" in last.err
    assert last.json["bytes"] > SIZE and last.json["digest"].startswith("sha256:")


def test_a_build_that_is_only_started_is_followed_by_the_same_command_again(bench: Bench) -> None:
    (own_context(bench) / "note").write_text(bench.name)

    started = bench.json("build", "other", "--async")
    refused = bench.meshctl("canary", "chat", "-y")
    followed = bench.json("build", "other")

    assert (started["digest"], refused.code) == (None, 8)
    assert followed["build"] == started["build"]
    assert followed["digest"].startswith("sha256:")
    path = f"/v1/projects/local/builds/{started['build']}"
    assert call(bench.url, "GET", path)[1]["status"] == "SUCCESS"
    assert bench.json("build", "other")["reused"] is True
