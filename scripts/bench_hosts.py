"""Prints how quick meshctl reads many hosts, as ratios to other tools in one run on this machine.

    python scripts/bench_hosts.py [--hosts 200] [--latency-ms 20] [--rounds 3] [--bin VENV/bin]

The hosts are SSH servers on loopback that run a real shell, each behind a delay; all their work is
done by this machine, too. `--bin` is where `ansible` and `pyinfra` are; without it they are left
out, and that is said. Two questions are asked: the whole reading that `meshctl host list` takes,
and `true`, which costs the hosts next to nothing. Rounds are run in turn, A B C A B C, the median
counts, and whoever lacks an answer of any host is not timed but an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from meshctl.targets.podman.readings.look import LOOK, Asked, arguments

ROOT = Path(__file__).parents[1]
MIB = 2**20
MARK = "@bench"
AT_ONCE = "50"


@dataclass(frozen=True)
class Run:
    """What one command took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Subject:
    """A tool and a question: the command, and how many hosts answered by what it printed."""

    name: str
    command: list[str]
    answers: Callable[[str], int]


def main() -> None:
    """Every table."""
    asked = arguments_of_mine()
    with tempfile.TemporaryDirectory() as name, servers(Path(name), asked):
        folder = Path(name)
        prepare(folder, asked.hosts)
        print(f"{asked.hosts} hosts, {asked.latency_ms:g} ms of latency, {os.cpu_count()} cores")
        for question in ("the whole reading", "true"):
            subjects = [meshctl(folder, question), *rivals(folder, question, asked.bin)]
            table(question, subjects, folder, asked)
    for missing in left_out(asked.bin):
        print(f"{missing} was left out: name the folder that holds it with --bin")


def arguments_of_mine() -> argparse.Namespace:
    """What is measured against whom."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--latency-ms", type=float, default=20.0, help="of a round trip")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", type=Path, help="the folder that holds the rivals' programs")
    return parser.parse_args()


@contextmanager
def servers(folder: Path, asked: argparse.Namespace) -> Iterator[None]:
    """The hosts, for the while."""
    delay_s = asked.latency_ms / 2000
    program = str(ROOT / "scripts/hosts_bench/servers.py")
    # asyncssh's server side forgets to wait for queues, and Python says so for every command
    command = [
        sys.executable,
        "-W",
        "ignore::RuntimeWarning",
        program,
        str(folder),
        str(asked.hosts),
        str(delay_s),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n", "no servers came up"
            yield
        finally:
            process.terminate()


def prepare(folder: Path, count: int) -> None:
    """The hosts as a fleet and as the rivals' inventories, and the reading as a file."""
    names = [f"h{number}" for number in range(count)]
    rows = "".join(f"  {name}: {{kind: podman, address: {name}}}\n" for name in names)
    (folder / "meshctl.yaml").write_text(f"meshctl: 1\nfleet: many\ntargets:\n{rows}")
    (folder / "inventory.ini").write_text("\n".join(names) + "\n")
    data = f"{{'ssh_config_file': {str(folder / 'config')!r}}}"
    (folder / "inventory.py").write_text(f"hosts = [(name, {data}) for name in {names!r}]\n")
    (folder / "look.sh").write_text(LOOK)


def meshctl(folder: Path, question: str) -> Subject:
    """Its own command for each question."""
    words = ["host", "list"] if question != "true" else ["host", "exec", "all", "--", "true"]
    file = str(folder / "meshctl.yaml")
    return Subject("meshctl", [sys.executable, "-m", "meshctl", "-o", "json", "-f", file, *words],
                   answered)  # fmt: skip


def answered(printed: str) -> int:
    """By whom meshctl was answered well."""
    told = json.loads(printed)
    if "hosts" in told:
        return sum(host["state"] == "up" for host in told["hosts"])
    return sum(answer["code"] == 0 for answer in told["answers"])


def rivals(folder: Path, question: str, programs: Path | None) -> list[Subject]:
    """Those that are there."""
    words = ["sh", str(folder / "look.sh"), *arguments(Asked(), MARK)]
    asked = words if question != "true" else ["true"]
    commands = {
        "ansible": ["ansible", "all", "-i", str(folder / "inventory.ini"), "-m", "raw",
                    "-f", AT_ONCE, "-a", " ".join(asked)],
        "pyinfra": ["pyinfra", "-y", "--parallel", AT_ONCE, str(folder / "inventory.py"),
                    "exec", "--", *asked],
    }  # fmt: skip
    answers = {"ansible": rc_0, "pyinfra": succeeded}
    return [
        Subject(name, [f"{programs}/{command[0]}", *command[1:]], answers[name])
        for name, command in commands.items()
        if name not in left_out(programs)
    ]


def rc_0(printed: str) -> int:
    """By whom ansible was answered well."""
    return printed.count("| CHANGED | rc=0 ")


def succeeded(printed: str) -> int:
    """By whom pyinfra was, as its last table has it."""
    found = re.search(r"Grand total +\d+ +(\d+)", printed)
    return int(found[1]) if found else 0


def left_out(programs: Path | None) -> list[str]:
    """Rivals that are not there."""
    return [n for n in ("ansible", "pyinfra") if not (programs and (programs / n).is_file())]


def table(question: str, subjects: list[Subject], folder: Path, asked: argparse.Namespace) -> None:
    """A row for each, and how meshctl compares."""
    runs: dict[str, list[Run]] = {subject.name: [] for subject in subjects}
    for _ in range(asked.rounds):
        for subject in subjects:
            runs[subject.name].append(timed(subject, folder, asked.hosts))
    walls = {name: statistics.median(run.wall_s for run in some) for name, some in runs.items()}
    print(f"\n{question:20} {'wall s':>8} {'own cpu s':>10} {'peak MiB':>9} {'of meshctl':>11}")
    for name, some in runs.items():
        cpu_s = statistics.median(run.cpu_s for run in some)
        peak = max(run.peak_bytes for run in some) / MIB
        times = walls[name] / walls["meshctl"]
        print(
            f"  {name:18} {walls[name]:8.2f} {cpu_s:10.2f} {peak:9.0f} {times:10.1f}x", flush=True
        )


def timed(subject: Subject, folder: Path, count: int) -> Run:
    """One run, with the processor time and the peak of its largest process. Raises SystemExit when
    not every host answered."""
    environ = os.environ | {
        "MESHCTL_SSH_CONFIG": str(folder / "config"), "PYTHONPATH": str(ROOT),
        "ANSIBLE_SSH_ARGS": f"-F {folder / 'config'} -o ControlMaster=no",
        "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1",
    }  # fmt: skip
    with (folder / "printed").open("w+") as out, (folder / "complained").open("w+") as err:
        began = time.perf_counter()
        process = subprocess.Popen(subject.command, env=environ, cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        printed, complained = out.read(), err.read()
    found = subject.answers(printed if subject.name != "pyinfra" else printed + complained)
    if found != count:
        sys.exit(
            f"{subject.name}: {found} of {count} answered\n{printed[-2000:]}{complained[-2000:]}"
        )
    return Run(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


if __name__ == "__main__":
    main()
