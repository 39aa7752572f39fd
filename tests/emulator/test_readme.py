"""The tour of the README can be typed as it stands, and says what it is said to say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed() -> list[tuple[str, int]]:
    """The commands of the tour, each with the exit code that it says it has."""
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    found = []
    for line in lines:
        command, _, code = line.partition("  # exit ")
        found.append((command, int(code or 0)))
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the tour needs of a checkout, so that it leaves nothing in the real one."""
    for name in ("configs", "cloudbuild"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".meshctl"))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    if shutil.which("curl") is None:  # a minimal Debian has none
        shim = tmp_path / "bin" / "curl"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/fakes/curl.py "$@"\n')
        shim.chmod(0o755)
    return tmp_path


def test_the_tour_of_the_readme_can_be_typed_as_it_stands(checkout: Path) -> None:
    commands = typed()
    script = "\n".join(f"{command}\ncode=$?; echo; echo @exit $code" for command, _ in commands)

    done = subprocess.run(
        ["bash", "-c", script],
        cwd=checkout,
        env={
            "PATH": f"{checkout}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(checkout),
            "LANG": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    codes = [int(code) for code in re.findall(r"^@exit (\d+)$", done.stdout, re.MULTILINE)]
    expected = [code for _, code in commands]
    assert codes == expected, done.stdout + done.stderr
    assert '"role":"assistant"' in done.stdout.replace(" ", "")
    assert len(commands) > 15
