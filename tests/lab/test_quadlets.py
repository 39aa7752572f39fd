"""Releases that podman runs: image, payload and secret are proved before anything is stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.bench import ENGINE, Bench
from tests.lab.machine import Machine
from tests.lab.test_units import bare_image

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
PORT = 7772
WEIGHTS = b"weights of a model\n" * 1000
FLEET = """\
meshctl: 1
fleet: lab
targets: {attic: {kind: podman, address: %(host)s}}
images: {bare: {ref: "%(image)s"}}
payloads:
  small: {source: "file:/nowhere", format: opaque, parameters: 1000,
          files: {small.bin: {bytes: %(bytes)d, sha256: "%(sha256)s"}}}
services:
  boxed:
    target: attic
    image: bare
    command: [/usr/bin/python3, %(engine)s]
    args: [--port, "8080", --host, 0.0.0.0, --model, small, %(args)s]
    ports: ["%(port)d:8080"]
    mounts: {/usr: /usr, /opt: /opt, /models: "payload:small"}
    env: {%(env)s}
    models: {small: {payload: small}}
    rollout: {token_deadline: 4s, confirm: 1}
"""


class Boxed(Bench):
    """The same bench for a service in a container."""

    image = ""

    def wants(self, *args: str, env: str = "") -> None:
        given = {
            "host": self.machine.name, "image": self.image, "engine": ENGINE, "port": self.port,
            "args": ", ".join(json.dumps(arg) for arg in args), "env": env,
            "bytes": len(WEIGHTS), "sha256": hashlib.sha256(WEIGHTS).hexdigest(),
        }  # fmt: skip
        (self.folder / "meshctl.yaml").write_text(FLEET % given)

    def clear(self) -> None:
        self.machine.run(["systemctl", "stop", f"{self.name}.service"])
        gone = f"/etc/containers/systemd/{self.name}.container /var/lib/meshctl"
        self.machine.out("sh", "-c", f"rm -rf {gone}; systemctl daemon-reload")


@pytest.fixture
def bench(host: Machine, tmp_path: Path) -> Iterator[Boxed]:
    made = Boxed(tmp_path, host, "boxed", PORT)
    made.image = bare_image(host)
    host.put("/var/lib/meshctl/payloads/small/small.bin", WEIGHTS)
    yield made
    made.clear()


def test_a_container_is_released_replaced_and_rolled_back(bench: Boxed) -> None:
    first, second = bench.deploy("--reply", "one"), bench.deploy("--reply", "two")
    assert (first.code, second.code, bench.serving()) == (0, 0, "two"), second.err

    back = bench.meshctl("rollback", "boxed", "-y")

    assert (back.code, bench.serving()) == (0, "one"), back.told
    running = bench.machine.out("podman", "ps", "--format", "{{.Names}}").split()
    assert running == ["boxed"]


def test_a_container_that_does_not_come_up_is_taken_back(bench: Boxed) -> None:
    bench.deploy("--reply", "one")

    done = bench.deploy("--mode", "no-such-mode")

    assert (done.code, done.told["restored"], bench.serving()) == (3, True, "one"), done.told
    assert "invalid choice" in done.told["message"]


def test_weights_that_are_not_what_is_declared_stop_nothing(bench: Boxed) -> None:
    bench.deploy("--reply", "one")
    forged = WEIGHTS[:-2] + b"X\n"
    bench.machine.put("/var/lib/meshctl/payloads/small/small.bin", forged)

    done = bench.deploy("--reply", "two")

    assert (done.code, bench.serving()) == (8, "one")
    assert hashlib.sha256(forged).hexdigest() in done.told["message"]


def test_a_secret_that_the_host_does_not_have_stops_nothing_and_is_never_shown(
    bench: Boxed,
) -> None:
    bench.deploy("--reply", "one")
    bench.wants("--reply", "two", env='TOKEN: {secret: canary, version: "1"}')

    refused = bench.meshctl("deploy", "boxed", "-y")
    assert (refused.code, bench.serving()) == (8, "one")
    assert "no secret meshctl-canary-1" in refused.told["message"]

    bench.machine.out("podman", "secret", "create", "meshctl-canary-1", "-", input=b"s3cr3t-canary")
    done = bench.meshctl("deploy", "boxed", "-y")
    bench.machine.run(["podman", "secret", "rm", "meshctl-canary-1"])
    assert (done.code, bench.serving()) == (0, "two")
    journal = [path.read_text() for path in (bench.folder / ".meshctl").rglob("*.json")]
    assert "s3cr3t-canary" not in f"{done} {journal} {bench.machine.run(['ps', 'ax']).out}"


def test_a_rollback_to_an_image_that_is_gone_stops_nothing(bench: Boxed) -> None:
    bench.deploy("--reply", "one")
    old, bench.image = bench.image, _another(bench.machine)
    bench.deploy("--reply", "two")
    bench.machine.out("podman", "rmi", "-f", old)

    refused = bench.meshctl("rollback", "boxed", "-y")

    assert (refused.code, bench.serving()) == (8, "two"), refused.told


def test_an_image_that_nobody_has_is_refused_with_the_way_to_bring_it(bench: Boxed) -> None:
    bench.image = f"localhost/nobody@sha256:{'7' * 64}"

    done = bench.deploy("--reply", "one")

    assert done.code == 8
    assert "podman load" in done.told["hint"]


def _another(machine: Machine) -> str:
    """The same links under another name, with another digest."""
    base = bare_image(machine)
    machine.out("podman", "create", "--name", "draft", base, "/x")
    machine.out("podman", "commit", "-q", "-c", "LABEL n=2", "draft", "localhost/other:1")
    machine.out("podman", "rm", "draft")
    digest = machine.out("podman", "image", "inspect", "localhost/other:1", "--format",
                         "{{.Digest}}")  # fmt: skip
    return f"localhost/other@{digest.strip()}"
