"""What takes long over a connection: something large that is sent, a log that is followed, and a
command that nobody waits for any more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from meshctl.errors import CheckFailed, Unreachable
from meshctl.outside.ssh import Hosts
from tests.contract.ssh.servers import Server, Servers, servers, wait_until, wait_until_gone

MIB = 2**20
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("streams")) as found:
        yield found


@pytest.fixture(scope="module")
def attic(some: Servers) -> Server:
    return some.start()


@pytest.fixture(scope="module")
def hosts(some: Servers, attic: Server) -> Iterator[Hosts]:
    with Hosts(some.options([attic], attic=attic)) as found:
        yield found


def pid_in(file: Path) -> int:
    """The number that a command writes there, once it did."""
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"), f"a number in {file}")
    return int(file.read_text())


def test_a_large_stream_arrives_as_it_is(hosts: Hosts) -> None:
    chunks = [os.urandom(size) for size in (1, 3 * MIB, 70_000, 0, 5 * MIB + 1)]
    seen: list[int] = []

    told = hosts.send("attic", ("sha256sum",), chunks, seen.append)

    whole = b"".join(chunks)
    assert (told.code, told.out.split()[0]) == (0, sha256(whole).hexdigest())
    assert seen == sorted(seen) and seen[-1] == len(whole)


def test_no_more_is_read_of_a_source_than_the_host_takes(hosts: Hosts, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    piece = tmp_path / "piece"
    slow = f"while head -c {MIB} >{piece} && [ -s {piece} ]; do echo >>{taken}; done"
    ahead: list[int] = []

    def source() -> Iterator[bytes]:
        for given in range(48):
            ahead.append(given - (taken.stat().st_size if taken.exists() else 0))
            yield bytes(MIB)

    told = hosts.send("attic", ("sh", "-c", slow), source())

    assert told.code == 0 and taken.stat().st_size >= 48
    assert max(ahead) < 16, "MiB that wait on the way"


def test_a_command_that_ends_early_is_sent_no_more_and_says_why(hosts: Hosts) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(MIB)

    little = "head -c 5 >/dev/null; echo full >&2; exit 9"
    told = hosts.send("attic", ("sh", "-c", little), endless())

    assert told.code == 9 and told.err.endswith("full\n")


def test_a_source_that_fails_is_never_taken_for_whole(hosts: Hosts, tmp_path: Path) -> None:
    def torn() -> Iterator[bytes]:
        yield b"half"
        wait_until((tmp_path / "pid").exists, "the command runs")
        raise OSError("the disk is gone")

    whole = f"echo $$ >{tmp_path}/pid; cat >/dev/null; touch {tmp_path}/whole"
    with pytest.raises(OSError, match="the disk is gone"):
        hosts.send("attic", ("sh", "-c", whole), torn())

    wait_until_gone(pid_in(tmp_path / "pid"))
    assert not (tmp_path / "whole").exists()


def test_a_link_that_is_cut_while_something_is_sent_is_unreachable_and_ends_the_command(
    some: Servers, tmp_path: Path
) -> None:
    host = some.start()

    def cut() -> Iterator[bytes]:
        yield b"half"
        wait_until((tmp_path / "pid").exists, "the command runs")
        some.hang_up(host)
        while True:
            yield bytes(MIB)

    whole = f"echo $$ >{tmp_path}/pid; cat >/dev/null; touch {tmp_path}/whole"
    with Hosts(some.options([host], host=host)) as hosts, pytest.raises(Unreachable) as lost:
        hosts.send("host", ("sh", "-c", whole), cut())

    assert "was lost" in lost.value.message
    wait_until_gone(pid_in(tmp_path / "pid"))
    assert not (tmp_path / "whole").exists()


def test_lines_come_while_the_command_runs(hosts: Hosts, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"echo one; until [ -e {go} ]; do sleep 0.1; done; echo two; printf three"

    with closing(hosts.follow("attic", ("sh", "-c", command))) as lines:
        first = next(lines)
        go.touch()
        rest = list(lines)

    assert (first, rest) == ("one", ["two", "three"])


def test_many_lines_and_long_ones_and_no_text_come_whole(hosts: Hosts) -> None:
    command = "seq 100000; head -c 1000000 /dev/zero | tr '\\0' x; echo; printf 'a\\377b\\n\\n'"

    lines = list(hosts.follow("attic", ("sh", "-c", command)))

    assert lines[:100000] == [str(number) for number in range(1, 100001)]
    assert "".join(lines[100000:-2]) == "x" * 1_000_000, "a line beyond measure comes in parts"
    assert lines[-2:] == ["a\ufffdb", ""]


def test_a_log_that_is_left_is_ended_on_the_host_though_it_says_nothing(
    hosts: Hosts, tmp_path: Path
) -> None:
    command = f"echo $$ >{tmp_path}/pid; echo one; exec sleep 600"

    for line in islice(lines := hosts.follow("attic", ("sh", "-c", command)), 1):
        assert line == "one"
    lines.close()  # type: ignore[attr-defined]

    wait_until_gone(pid_in(tmp_path / "pid"))


def test_a_log_that_cannot_be_followed_says_so(hosts: Hosts) -> None:
    with pytest.raises(CheckFailed) as failed:
        list(hosts.follow("attic", ("sh", "-c", "echo no such unit >&2; exit 4")))

    assert "sh on attic ended with 4: no such unit" in failed.value.message


def test_a_log_whose_host_goes_away_is_unreachable(some: Servers) -> None:
    host = some.start()

    with Hosts(some.options([host], host=host)) as hosts, pytest.raises(Unreachable) as lost:
        for _ in hosts.follow("host", ("sh", "-c", "echo one; sleep 600")):
            some.hang_up(host)

    assert "was lost" in lost.value.message


def test_a_command_that_ignores_its_end_is_killed_when_nobody_waits(
    hosts: Hosts, tmp_path: Path
) -> None:
    stubborn = f'trap "" TERM; echo $$ >{tmp_path}/pid; echo one; while :; do sleep 1; done'

    with closing(hosts.follow("attic", ("sh", "-c", stubborn))) as lines:
        next(lines)

    wait_until_gone(pid_in(tmp_path / "pid"))


RUN_ALL = """
import sys
from meshctl.outside.ssh import Command, Hosts, script
with Hosts({"config": [sys.argv[1]]}) as hosts:
    wait = lambda name: script(f"echo $$ > {sys.argv[2]}/{name}; sleep 600", timeout_s=3600)
    try:
        hosts.run_all({n: (n, wait(n)) for n in ("one", "two", "silent")})
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_who_is_stopped_in_the_middle_leaves_no_command_on_any_host(
    some: Servers, tmp_path: Path, how: signal.Signals
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call and says nothing
        at = some.start()
        dead = Server(silent.getsockname()[1], at.host_key, at.fingerprint, at.log)
        config = some.options([at, dead], one=at, two=at, silent=dead)
        command = [sys.executable, "-c", RUN_ALL, config["config"][0], str(tmp_path)]
        process = subprocess.Popen(
            command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True
        )
        pids = [pid_in(tmp_path / name) for name in ("one", "two")]

        os.killpg(process.pid, how)
        _, complaints = process.communicate(timeout=180)

    assert process.returncode == (130 if how is signal.SIGINT else -9)
    assert complaints == ""
    for pid in pids:
        wait_until_gone(pid)
