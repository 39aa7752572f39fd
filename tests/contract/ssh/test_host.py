"""`host list` and `host exec` over real sshds: one host that fails hides no other."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.ssh.servers import Server, Servers, servers

DIGEST = f"sha256:{'1' * 64}"
HELD = 21437
"""A port that the tests hold, below those that Linux gives away."""
SS = shutil.which("ss", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
PAGE = Path(__file__).parents[3] / "docs/hosts.md"

MANAGER = """#!/bin/sh
case "$*" in
*--version*) echo "systemd 257 (257.9)";;
*FragmentPath\\ --value*) echo UNIT;;
*InvocationID*) printf 'Id=chat.service\\nLoadState=loaded\\nActiveState=active\\nNRestarts=3\\n';;
esac
"""


@dataclass
class Fleet:
    """A fleet of hosts, and the ssh configuration that leads to them."""

    file: Path
    config: str
    stranger: Server

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "meshctl", "-f", str(self.file), *words]
        environ = os.environ | {"MESHCTL_SSH_CONFIG": self.config}
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=200)

    def json(self, *words: str, code: int) -> dict[str, Any]:
        done = self.run("-o", "json", *words)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        document: dict[str, Any] = json.loads(done.stdout)
        return document


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("hosts")
    with servers(folder) as some:
        yield _fleet(folder, some)


def _fleet(folder: Path, some: Servers) -> Fleet:
    attic, cellar, stranger = some.start(_tools(folder)), some.start(), some.start()
    gone = replace(stranger, port=1)
    names = {"attic": attic, "cellar": cellar, "stranger": stranger, "gone": gone}
    config = some.options([attic, cellar, gone], **names)["config"][0]
    rows = "".join(f"  {name}: {{kind: podman, address: {name}}}\n" for name in names)
    file = folder / "meshctl.yaml"
    file.write_text(
        f"meshctl: 1\nfleet: home\ntargets:\n  gcp: {{kind: cloudrun, project: some-project,"
        f" region: us-central1}}\n{rows}images:\n  llama: {{ref: 'ghcr.io/x/llama@{DIGEST}'}}\n"
        f"services:\n  chat: {{target: attic, image: llama, ports: ['{HELD}:8080']}}\n"
    )
    return Fleet(file, config, stranger)


def _tools(folder: Path) -> Path:
    """A systemd with one unit and a journal of two entries, for none may run here; the journal
    notes what it was asked."""
    tools = folder / "tools"
    tools.mkdir()
    program = tools / "journalctl"
    rows = [
        {"__CURSOR": f"c{second}", "__REALTIME_TIMESTAMP": f"17645598{second}000000",
         "PRIORITY": "6", "MESSAGE": text}
        for second, text in (("00", "loading"), ("01", "bind: Address already in use"))
    ]  # fmt: skip
    lines = "\n".join(map(json.dumps, rows))
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {folder}/asked\ncat <<'END'\n{lines}\nEND\n")
    program.chmod(0o755)
    manager = tools / "systemctl"
    unit = folder / "chat.service"
    unit.write_text("[Service]\nExecStart=/usr/bin/llama-server\n")
    manager.write_text(MANAGER.replace("UNIT", str(unit)))
    manager.chmod(0o755)
    return tools


def test_the_log_of_a_service_on_a_host_is_that_of_its_unit(fleet: Fleet) -> None:
    done = fleet.run("logs", "chat", "--since", "2h")
    unfit = fleet.json("logs", "chat", "--candidate", code=64)

    asked = (fleet.file.parent / "asked").read_text()
    assert done.returncode == 0, done.stderr
    assert "loading" in done.stdout and "Address already in use" in done.stdout
    assert "another process holds the port" in done.stdout, "the cause is named with its remedy"
    assert "--unit=chat.service" in asked and "--since=-7200s" in asked
    assert "runs on a host" in unfit["message"]


def test_a_service_on_a_host_is_what_its_unit_is(fleet: Fleet) -> None:
    [chat] = fleet.json("status", code=0)["services"]

    assert (chat["state"], chat["target"], chat["pinned"]) == ("READY", "attic", True)
    assert {"path": "Service.ExecStart", "from": None, "to": "/usr/bin/llama-server"} in chat[
        "drift"
    ]
    assert "chat.service was restarted 3 times since it was started" in chat["notes"]


def test_a_host_that_answers_is_shown_with_what_it_has(fleet: Fleet) -> None:
    [attic] = fleet.json("host", "list", "attic", code=0)["hosts"]

    facts = attic["facts"]
    assert attic["state"] == "up"
    assert facts["kernel"] == os.uname().release
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["memory"]["total_bytes"] == total
    assert 0 < facts["disk"]["free_bytes"] < facts["disk"]["total_bytes"]


def test_who_does_not_answer_is_told_apart_and_hides_nobody(fleet: Fleet) -> None:
    found = {entry["name"]: entry for entry in fleet.json("host", "list", code=6)["hosts"]}

    states = {name: entry["state"] for name, entry in found.items()}
    assert states == {"attic": "up", "cellar": "up", "stranger": "refused", "gone": "unreachable"}
    assert fleet.stranger.fingerprint in found["stranger"]["why"]
    assert found["gone"]["facts"] is None


def test_a_host_that_is_not_the_known_one_hides_no_other_services(
    fleet: Fleet, tmp_path: Path
) -> None:
    both = tmp_path / "meshctl.yaml"
    both.write_text(fleet.file.read_text() + "  tale: {target: stranger, image: llama}\n")

    found = replace(fleet, file=both).json("status", code=6)["services"]

    assert {one["name"]: one["state"] for one in found} == {"chat": "READY", "tale": "UNKNOWN"}


def test_a_command_runs_on_every_host_and_each_answer_is_its_own(fleet: Fleet) -> None:
    command = ("--", "sh", "-c", "echo $0 'a  b'; exit 3", "me")

    told = fleet.json("host", "exec", "attic,cellar", *command, code=9)

    answers = [(one["name"], one["code"], one["out"]) for one in told["answers"]]
    assert answers == [("attic", 3, "me a  b\n"), ("cellar", 3, "me a  b\n")]


def test_a_port_that_somebody_holds_is_named_with_its_holder(fleet: Fleet) -> None:
    if SS is None:
        pytest.skip("no ss names the holder of a port here: apt-get install iproute2")

    with socket.create_server(("127.0.0.1", HELD)):
        [attic, cellar] = fleet.json("host", "check", "attic", "cellar", code=9)["hosts"]

    [chat] = attic["services"]
    [port] = [gate for gate in chat["gates"] if gate["name"] == f"port {HELD}"]
    assert port["verdict"] == "fail" and f"(pid {os.getpid()})" in port["evidence"]
    assert (chat["verdict"], chat["unit"], chat["restarts"]) == ("fail", "active", 3)
    assert [(s["pid"], s["holds"]) for s in chat["strays"]] == [(os.getpid(), f"port {HELD}")]
    assert cellar["services"] == []


def test_what_is_not_known_of_a_host_is_unclear_not_well(fleet: Fleet) -> None:
    if shutil.which("podman"):
        pytest.skip("here is a podman, which answers")

    [attic] = fleet.json("host", "check", "attic", code=7)["hosts"]

    verdicts = {gate["name"]: gate["verdict"] for gate in attic["services"][0]["gates"]}
    port = "pass" if SS else "unclear"
    assert verdicts == {f"port {HELD}": port, "image": "unclear", "podman": "unclear"}


def test_every_command_of_the_page_can_be_typed_as_it_stands(fleet: Fleet, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## What is there")[2]  # releases: the lab
    commands = re.findall(r"^\$ meshctl (.*)$", page, re.MULTILINE)
    only = tmp_path / "meshctl.yaml"
    only.write_text(re.sub(r"  (stranger|gone): .*\n", "", fleet.file.read_text()))
    known = replace(fleet, file=only)

    done = [known.run(*shlex.split(command)) for command in commands]

    assert all(d.stdout for d in done)
    judging = [d for d in done if "check" in d.args or "sweep" in d.args]
    assert [d.returncode for d in done if d not in judging] == [0] * 7, done
    assert all(d.returncode in (0, 7, 9) for d in judging), done


def test_a_host_that_is_none_is_refused_before_anybody_is_asked(fleet: Fleet) -> None:
    unknown = fleet.json("host", "list", "atic", code=64)
    cloud = fleet.json("host", "exec", "gcp", "--", "true", code=64)

    assert unknown["message"] == "no host named 'atic'" and "attic" in unknown["hint"]
    assert cloud["message"] == "gcp is a Cloud Run target"
