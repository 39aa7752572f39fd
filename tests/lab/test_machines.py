"""The lab itself: its machines are real ones, and what meshctl reads of them is what they are."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from meshctl.targets.podman.quadlet import quadlet
from meshctl.targets.podman.readings.host import parse
from meshctl.targets.podman.readings.look import LOOK, Asked, arguments
from meshctl.targets.podman.readings.value import Known, Unknown
from tests.fakes.counting_model import counted
from tests.lab.bench import Bench, until
from tests.lab.engine import MODEL, MODEL_FILE, load_engine
from tests.lab.machine import Machine
from tests.unit.podman.made import unit

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
T = TypeVar("T")
PORT = 7775
UNIT = "engine.service"
TOKEN = "@3f9a"
FLEET = """\
meshctl: 1
fleet: lab
targets: {attic: {kind: podman, address: %(host)s}}
images: {engine: {ref: "%(image)s"}}
services:
  engine:
    target: attic
    image: engine
    args: [-m, %(model)s]
    ports: ["%(port)d:8080"]
    models: {tiny: {}}
"""


@pytest.fixture(scope="module")
def image(host: Machine) -> str:
    return load_engine(host)


@pytest.fixture
def engine(host: Machine, image: str) -> Iterator[str]:
    """The real engine runs by a quadlet as we write them; its address as others see it."""
    args = ["-m", MODEL_FILE, "-a", MODEL, "-c", "512", "-np", "1", "-t", "1"]
    of = {"args": [*args, "--host", "0.0.0.0", "--port", "8080"]}
    text = quadlet(unit(name="engine", image=image, of=of, ports=(f"{PORT}:8080",)))
    host.put("/etc/containers/systemd/engine.container", text.encode())
    host.out("systemctl", "daemon-reload")
    host.out("systemctl", "start", UNIT)
    until(lambda: ask(f"http://{host.address}:{PORT}/health") == (200, {"status": "ok"}), "ready")
    yield f"http://{host.address}:{PORT}"
    host.out("sh", "-c", "systemctl stop engine; rm /etc/containers/systemd/engine.container")
    host.out("systemctl", "daemon-reload")


def test_a_reboot_from_inside_is_another_boot_of_the_same_disk(host: Machine) -> None:
    host.put("/var/lib/kept", b"as it was\n")
    before = host.boot_id()

    host.reboot()

    assert host.boot_id() not in (before, "")
    assert host.ssh("cat", "/var/lib/kept").out == "as it was\n"


def test_a_power_cut_is_another_boot_of_the_same_disk(host: Machine) -> None:
    host.put("/var/lib/kept", b"as it was\n")
    before = host.boot_id()

    host.cut_power()
    host.until_up()

    assert host.boot_id() not in (before, "")
    assert host.ssh("cat", "/var/lib/kept").out == "as it was\n"


def test_a_cut_link_is_unreachable_until_it_is_healed(host: Machine) -> None:
    before = host.boot_id()

    host.cut_link()
    cut = host.ssh("true")
    host.heal_link()
    host.until_up()

    assert cut.code == 255
    assert host.boot_id() == before


def test_machines_are_apart_and_each_is_up(hosts: tuple[Machine, ...]) -> None:
    names = [machine.ssh("hostname").out.strip() for machine in hosts]
    boots = {machine.boot_id() for machine in hosts}

    assert names == [machine.name for machine in hosts]
    assert len(boots) == 3 and "" not in boots
    assert len({machine.out("cat", "/etc/machine-id") for machine in hosts}) == 3
    assert len({known_key(machine) for machine in hosts}) == 3


def test_a_command_on_a_machine_writes_to_its_disk_and_to_no_other(host: Machine) -> None:
    name = f"written-{host.boot_id()}"

    host.out("touch", name)

    assert host.ssh("ls", "-d", f"/{name}").code == 0
    assert not Path("/", name).exists()


def test_the_real_engine_runs_by_a_quadlet_and_answers_from_outside(engine: str) -> None:
    body = {"messages": [{"role": "user", "content": "count"}], "max_tokens": 4, "temperature": 0}

    code, told = ask(f"{engine}/v1/chat/completions", {"model": MODEL, **body})

    assert code == 200
    assert told["choices"][0]["message"]["content"].strip() == counted(MODEL, 4).strip()


def test_what_a_look_reads_of_a_machine_is_what_the_machine_says(
    host: Machine, engine: str, image: str
) -> None:
    main = int(host.out("podman", "inspect", "engine", "--format", "{{.State.Pid}}"))
    asked = Asked(units=(UNIT, "no-such.service"), folders=("/srv/not/yet",))
    words = arguments(asked, TOKEN, longest_s=60)

    seen = parse(host.out("sh", "-s", "--", *words, input=LOOK.encode()), TOKEN)

    unread = {name for name, value in seen if isinstance(value, Unknown)}
    assert (seen.whole, unread) == (True, {"driver"})  # no card of NVIDIA, and no driver
    assert known(seen.boot_id) == host.boot_id()
    assert f"podman version {known(seen.podman)}\n" == host.out("podman", "--version")
    assert known(seen.memory).total_bytes == memory_of(host)
    assert [known(pool).total_bytes > 0 for pool in seen.disks.values()] == [True, True]
    running, absent = sorted(known(seen.units), key=lambda each: each.name)
    assert (running.active, running.load, absent.load) == ("active", "loaded", "not-found")
    (container,) = known(seen.containers)
    assert (container.name, container.pid, container.ports) == ("engine", main, (PORT,))
    assert main in running.pids
    assert {22} <= {each.port for each in known(seen.listeners) if each.name == "sshd"}
    assert image.partition("@")[2] in {d for each in known(seen.images) for d in each.digests}


def test_host_check_says_what_it_sees_there(
    host: Machine, engine: str, image: str, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, host, "engine", PORT)
    given = {"host": host.name, "image": image, "model": MODEL_FILE, "port": PORT}
    (tmp_path / "meshctl.yaml").write_text(FLEET % given)

    done = bench.meshctl("host", "check")

    (checked,) = done.told["hosts"]
    assert (done.code, checked["state"]) == (0, "up"), done
    assert [each["name"] for each in checked["services"]] == ["engine"]


def test_host_check_of_a_machine_whose_link_is_cut_is_unreachable(
    host: Machine, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, host, "engine", PORT)
    bench.wants()

    host.cut_link()
    done = bench.meshctl("host", "check", "--timeout", "10s")
    host.heal_link()
    host.until_up()

    assert (done.code, done.told["hosts"][0]["state"]) == (6, "unreachable")


def ask(url: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Code and document of an answer, code 0 where nobody answers. No proxy stands between."""
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=60) as told:
            return told.status, json.load(told)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None
    except (OSError, http.client.HTTPException):
        return 0, None


def known(reading: Known[T] | Unknown) -> T:
    assert isinstance(reading, Known), reading
    return reading.value


def known_key(machine: Machine) -> str:
    """The last word of `ADDRESS TYPE KEY`; a machine has one."""
    (line,) = (machine.folder / "known").read_text().splitlines()
    return line.split()[-1]


def memory_of(host: Machine) -> int:
    return 1024 * int(host.out("awk", "/^MemTotal/{print $2}", "/proc/meminfo"))
