"""Releases on a real machine: what worked keeps working, and what is said of it is true."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.bench import Bench, ended, kill, until
from tests.lab.machine import Machine

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
PORT = 7773
PAGE = Path(__file__).parents[2] / "docs/hosts.md"


@pytest.fixture
def bench(host: Machine, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, host, "small", PORT)
    yield made
    made.clear()


def test_a_first_release_is_proved_and_the_next_one_takes_its_place(bench: Bench) -> None:
    first = bench.deploy("--reply", "one")
    assert (first.code, first.told["verdict"], bench.serving()) == (0, "pass", "one")

    again = bench.meshctl("deploy", "small", "-y")
    assert (again.code, again.told["run"]) == (0, "")

    second = bench.deploy("--reply", "two")
    assert (second.code, bench.serving()) == (0, "two")
    assert second.told["from_release"] == first.told["to_release"]

    (status,) = bench.meshctl("status").told["services"]
    assert (status["state"], status["release"], status["drift"]) == (
        "READY",
        second.told["to_release"],
        [],
    )


def test_a_first_release_that_is_broken_leaves_nothing_behind(bench: Bench) -> None:
    done = bench.deploy("--mode", "no-such-mode")

    assert (done.code, done.told["restored"]) == (3, True)
    assert "invalid choice" in done.told["message"]
    assert bench.unit() == "inactive"
    assert bench.machine.run(["ls", "/etc/systemd/system/small.service"]).code != 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--mode", "no-such-mode"), "invalid choice"),
        (("--mode", "wedged"), "no token"),
        (("--mode", "crash", "--exit-code", "0"), "NRestarts"),
        (("--mode", "lying"), "without a token"),
    ],
    ids=["broken", "wedged", "crashes-after-ready", "lies"],
)
def test_what_does_not_prove_itself_is_taken_back(
    bench: Bench, args: tuple[str, ...], said: str
) -> None:
    bench.deploy("--reply", "one")

    done = bench.deploy(*args)

    assert (done.code, done.told["restored"], bench.serving()) == (3, True, "one")
    assert said in str(done.told), done.told["message"]
    assert bench.meshctl("verify", "small").code == 0


def test_a_rollback_goes_back_and_needs_no_journal(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.deploy("--reply", "two")
    shutil.rmtree(bench.folder / ".meshctl")

    done = bench.meshctl("rollback", "small", "-y")

    assert (done.code, done.told["verdict"], bench.serving()) == (0, "pass", "one")


def test_a_rollback_needs_no_fleet_file(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.deploy("--reply", "two")
    (bench.folder / "meshctl.yaml").write_text("services: [")

    done = bench.meshctl("rollback", "small", "-y")

    assert (done.code, bench.serving()) == (0, "one")


def test_a_unit_that_somebody_else_wrote_is_left_alone_until_told(bench: Bench) -> None:
    unit = f"[Service]\nExecStart=/usr/bin/python3 /opt/fake_engine.py --port {PORT} --reply own\n"
    bench.machine.put("/etc/systemd/system/small.service", unit.encode())
    bench.machine.out("systemctl", "start", "small.service")
    until(lambda: bench.serving() == "own", "the stranger's unit serves")

    refused = bench.deploy("--reply", "one")
    assert (refused.code, bench.serving()) == (8, "own")

    broken = bench.meshctl("deploy", "small", "-y", "--take-traffic")
    assert (broken.code, bench.serving()) == (0, "one")


def test_an_undo_gives_a_strangers_unit_back_as_it_was(bench: Bench) -> None:
    unit = f"# mine\n[Service]\nExecStart=/usr/bin/python3 /opt/fake_engine.py --port {PORT}\n"
    bench.machine.put("/etc/systemd/system/small.service", unit.encode())
    bench.machine.out("systemctl", "start", "small.service")
    bench.wants("--mode", "lying")

    done = bench.meshctl("deploy", "small", "-y", "--take-traffic")

    assert done.code in (3, 4)
    assert bench.machine.out("cat", "/etc/systemd/system/small.service") == unit
    assert bench.unit() == "active"


def test_a_port_that_a_stray_holds_is_refused_by_name_before_anything_stops(bench: Bench) -> None:
    stray = "import socket,time; s=socket.create_server(('127.0.0.1',7773)); time.sleep(600)"
    bench.machine.out("systemd-run", "--unit=stray", "/usr/bin/python3", "-c", stray)
    until(lambda: "7773" in bench.machine.run(["ss", "-ltn"]).out, "the stray listens")

    done = bench.deploy("--reply", "one")

    bench.machine.out("systemctl", "stop", "stray.service")
    assert (done.code, done.told["restored"]) == (8, True)
    assert "port 7773" in done.told["message"]
    assert "python3" in done.told["message"]


def test_a_full_disk_is_refused_before_anything_stops(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.machine.run(["sh", "-c", "dd if=/dev/zero of=/var/full bs=1M 2>/dev/null"])

    done = bench.deploy("--reply", "two")
    served = bench.serving()
    bench.machine.out("rm", "-f", "/var/full")

    assert (done.code, served) == (8, "one"), done.told
    assert "disk" in done.told["message"]


def test_a_host_without_a_link_is_unknown_and_nothing_is_said_of_it(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.machine.cut_link()

    done = bench.deploy("--reply", "two")
    (status,) = bench.meshctl("status").told["services"]
    bench.machine.heal_link()

    assert done.code == 6
    assert status["state"] == "UNKNOWN"
    until(lambda: bench.serving() == "one", "it serves as before")


def test_a_link_that_is_cut_in_the_middle_is_gone_on_with_when_it_heals(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two", "--load", "6")
    rollout = bench.start("deploy", "small", "-y")
    until(lambda: "two" in _command(bench), "the new release was started")

    bench.machine.cut_link()
    broken = ended(rollout)
    bench.machine.heal_link()
    assert broken.code == 4, broken
    assert any("resume" in command for command in broken.told["left"])

    done = bench.meshctl("resume", "small")
    assert (done.code, done.told["restored"], bench.serving()) == (3, True, "one"), done.told


def test_a_reboot_in_the_middle_ends_with_one_of_the_two_proved(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two", "--load", "5")
    rollout = bench.start("deploy", "small", "-y")
    until(lambda: "two" in _command(bench), "the new release was started")

    bench.machine.cut_power()
    done = ended(rollout)
    bench.machine.until_up()
    if done.code == 4:
        done = bench.meshctl("resume", "small")

    assert done.code in (0, 3), done.told
    assert bench.serving() == {0: "two", 3: "one"}[done.code]
    assert bench.meshctl("verify", "small").code == 0


def test_two_who_do_not_know_of_each_other_never_both_succeed_in_a_mix(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two")
    other = bench.folder / "other"
    other.mkdir()
    shutil.copytree(bench.folder / ".meshctl", other / ".meshctl")

    both = [
        bench.start("deploy", "small", "-y"),
        bench.start("deploy", "small", "-y", state=str(other / ".meshctl/state")),
    ]
    codes = [ended(one).code for one in both]

    assert bench.unit() == "active"
    served = bench.serving()
    assert served in ("one", "two")
    assert 0 not in codes or served == "two", codes


def test_a_rollout_that_was_killed_is_gone_on_with(bench: Bench) -> None:
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two", "--load", "5")
    rollout = bench.start("deploy", "small", "-y")
    until(lambda: "two" in _command(bench), "the new release was started")

    kill(rollout)
    done = bench.meshctl("resume", "small")

    assert (done.code, bench.serving()) == (0, "two"), done.told


def test_every_command_of_the_page_on_releases_can_be_typed_as_it_stands(bench: Bench) -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## What is there")[0]
    commands = re.findall(r"^\$ meshctl (.*)$", page, re.MULTILINE)
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two")

    done = [bench.meshctl(*command.split(), MESHCTL_YES="1") for command in commands]

    assert [one.code for one in done] == [0] * 4, (commands, done)
    assert bench.serving() == "one", "the page ends with a rollback"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("good", [True, False], ids=["good", "bad"])
def test_whenever_meshctl_dies_resume_ends_what_it_began(bench: Bench, good: bool) -> None:
    """MESHCTL_DRILL kills the process round its N-th write."""
    bench.deploy("--reply", "0")
    old, number = "0", 0
    for side in ("before", "after"):
        number = 0
        while True:
            number += 1
            new = f"{side}{number}"
            args = ("--reply", new) if good else ("--mode", "no-such-mode")
            died = bench.deploy(*args, MESHCTL_DRILL=f"{side}:{number}")
            if died.code >= 0:
                break
            resumed = bench.meshctl("resume", "small")
            if resumed.code == 8:  # it died before the run began, or after it was over
                assert bench.serving() in (old, new if good else old)
            else:
                assert resumed.code == (0 if good else 3), (side, number, resumed.told)
                assert bench.serving() == (new if good else old), (side, number)
            assert bench.meshctl("verify", "small").code == 0
            old = bench.serving()
        assert number > 8, "the sweep went round every event"


def _command(bench: Bench) -> str:
    """The command line of whatever runs for the service."""
    listed = bench.machine.run(
        ["sh", "-c", "cat /proc/$(systemctl show -p MainPID --value small.service)/cmdline"]
    )
    return listed.out.replace("\0", " ")
