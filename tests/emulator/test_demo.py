"""`meshctl demo` as a process: every promise in one run, and nothing left behind by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from meshctl.ui.answers import Demo

pytestmark = pytest.mark.alone

TOP = Path(__file__).parents[2]
CODES = {
    "build": 0,
    "first deploy": 0,
    "real answer": 0,
    "canary": 0,
    "verify": 0,
    "cutover": 0,
    "rollback": 0,
    "a release that exits at once": 3,
    "build with a wedged engine": 0,
    "a release with a lying health check": 3,
    "a pin behind our back": 0,
    "deploy refuses the pin": 8,
    "deploy takes the traffic": 0,
    "kill -9 in the middle": 137,
    "status": 0,
    "resume": 0,
    "history": 0,
    "explain": 0,
}


def started(folder: Path) -> subprocess.Popen[str]:
    """The demo, with a folder for everything that it makes."""
    return subprocess.Popen(
        [sys.executable, "-m", "meshctl", "demo", "-o", "json"],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(TOP), "TMPDIR": str(folder)}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def left_behind(folder: Path) -> list[str]:
    """Files in the folder, and processes that were started with it in their environment."""
    return [*map(str, folder.iterdir()), *_processes(str(folder).encode())]


def _processes(mark: bytes) -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            known = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:  # it ended while we looked, or is not ours
            continue
        if mark in known:
            yield f"{process.name}: {known[:200].decode(errors='replace')}"


@pytest.mark.timeout(600)
def test_every_promise_is_kept_and_a_client_is_never_let_down(tmp_path: Path) -> None:
    demo = started(tmp_path)

    out, err = demo.communicate(timeout=580)

    document = json.loads(out)
    assert demo.returncode == 0, err
    assert Demo.model_validate(document).data() == document
    assert {scene["name"]: scene["exit_code"] for scene in document["scenes"]} == CODES
    assert all(scene["exit_code"] == scene["expected_exit_code"] for scene in document["scenes"])
    assert document["ok"] is True
    assert document["client"]["requests"] > 50
    assert document["client"]["failed"] == 0
    assert "\x1b" not in err
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("sign", "when"), [(signal.SIGINT, "$ meshctl build"), (signal.SIGTERM, "real answer")]
)
def test_a_demo_that_is_stopped_leaves_nothing_behind(
    tmp_path: Path, sign: signal.Signals, when: str
) -> None:
    demo = started(tmp_path)
    assert demo.stderr is not None
    while when not in (line := demo.stderr.readline()):
        assert line, "it ended before it was stopped"
    time.sleep(0.5)

    demo.send_signal(sign)
    out, err = demo.communicate(timeout=120)

    assert demo.returncode == 130, err
    assert json.loads(out)["kind"] == "error/v1"
    assert left_behind(tmp_path) == []
