"""Prints how quick meshctl is, as ratios measured in one run on this machine.

Each pair is timed in turn, A B A B, so that a machine that slows down slows both; the ratio printed
is the median of the pairs' ratios. Absolute times say nothing on another machine.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 7
MESHCTL = [sys.executable, "-m", "meshctl"]
IMPORT = [sys.executable, "-c", "import typer, rich"]
CLIENT = [sys.executable, "-c", "from google.cloud import run_v2"]
SERVER = "import aiohttp.web, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def main() -> None:
    """Every row of the table."""
    row("meshctl --help", "import typer, rich", ratio([*MESHCTL, "--help"], IMPORT))
    row("meshctl --version", "import typer, rich", ratio([*MESHCTL, "--version"], IMPORT))
    row("validate of 1,000 services", "yaml.CSafeLoader and python's start", validate_ratio())
    with tempfile.TemporaryDirectory() as folder:
        cloud_rows(Path(folder))


def cloud_rows(folder: Path) -> None:
    """What needs an embedded cloud at rest."""
    for name in ("configs", "cloudbuild"):
        ignored = shutil.ignore_patterns(".meshctl")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    fleet = [*MESHCTL, "-f", str(folder / "configs" / "local.yaml")]
    started = json.loads(output([*fleet, "emulator", "start", "-o", "json"]))
    try:
        row("meshctl status", "import google.cloud.run_v2", ratio([*fleet, "status"], CLIENT))
        server_kib = int(output([sys.executable, "-c", SERVER]))
        row(
            "memory of the embedded cloud",
            "import aiohttp.web",
            rss_kib(started["pid"]) / server_kib,
        )
    finally:
        output([*fleet, "emulator", "stop"])


def validate_ratio() -> float:
    """Reading a large fleet against only parsing it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "meshctl.yaml"
        file.write_text(large_fleet(1000))
        parse = f"import yaml; yaml.load(open({str(file)!r}), yaml.CSafeLoader)"
        return ratio([*MESHCTL, "-f", str(file), "validate"], [sys.executable, "-c", parse])


def large_fleet(count: int) -> str:
    """A valid fleet of that many services."""
    head = (
        "meshctl: 1\nfleet: large\n"
        "targets: {gcp: {kind: cloudrun, project: my-project, region: us-central1}}\n"
        f'images: {{mesh: {{ref: "example.com/mesh@sha256:{"1" * 64}"}}}}\nservices:\n'
    )
    service = "  s{n}: {{target: gcp, image: mesh, args: [mesh], env: {{NUMBER: '{n}'}}}}\n"
    return head + "".join(service.format(n=n) for n in range(count))


def ratio(one: list[str], other: list[str]) -> float:
    """Wall time of one command over another's: the median of pairs run in turn."""
    seconds(one), seconds(other)
    return statistics.median(seconds(one) / seconds(other) for _ in range(ROUNDS))


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - began


def output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rss_kib(pid: int) -> int:
    """Resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


def row(what: str, against: str, value: float) -> None:
    print(f"{value:6.2f} x   {what}  /  {against}", flush=True)


if __name__ == "__main__":
    main()
