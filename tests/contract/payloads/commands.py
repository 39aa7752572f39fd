"""Runs `meshctl payload` as a process, in a folder and without the operator's own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def environ(folder: Path, **more: str) -> dict[str, str]:
    """No tokens, no caches, no settings of whoever runs the tests."""
    ours = ("HF_", "AWS_", "R2_", "MESHCTL_", "XDG_", "PIP_", "UV_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return {**clean, "HOME": str(folder / "home"), **more}


def start(folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "meshctl", *words], cwd=folder, env=environ(folder, **more),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(folder: Path, *words: str, **more: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    process = start(folder, *words, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def answer(folder: Path, *words: str, code: int = 0, **more: str) -> Any:
    """The JSON of `meshctl payload WORDS`, which ended with this code."""
    found, out, err = run(folder, "-o", "json", "payload", *words, **more)
    assert found == code, f"exit {found}\n{out}\n{err}"
    return json.loads(out)
