"""What is in the way on a real machine is named, and ended only when somebody says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.bench import Bench, until
from tests.lab.machine import Machine

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
HOLD = "import socket, time; s = socket.create_server(('127.0.0.1', 7771)); time.sleep(600)"


@pytest.fixture
def bench(host: Machine, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, host, "swept", 7771)
    yield made
    made.clear()


def test_a_stray_unit_is_named_then_ended_and_the_release_goes_through(bench: Bench) -> None:
    bench.wants()
    bench.machine.out("systemd-run", "--unit=squatter", "/usr/bin/python3", "-c", HOLD)
    until(lambda: "7771" in bench.machine.run(["ss", "-ltn"]).out, "the stray listens")

    listed = bench.meshctl("host", "sweep", "--dry-run")
    assert listed.code == 9
    (thing,) = listed.told["hosts"][0]["things"]
    assert (thing["order"], thing["holds"]) == ("unit:squatter.service", "port 7771")
    assert bench.meshctl("host", "sweep").code == 64  # nobody is there to be asked

    swept = bench.meshctl("host", "sweep", "-y")
    assert (swept.code, swept.told["hosts"][0]["things"]) == (0, [])
    assert bench.meshctl("deploy", "swept", "-y").code == 0


def test_what_serves_is_never_in_the_way(bench: Bench) -> None:
    bench.deploy()

    swept = bench.meshctl("host", "sweep", "-y")

    assert (swept.code, bench.unit()) == (0, "active")
