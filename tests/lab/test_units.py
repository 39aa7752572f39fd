"""Units as we write them, read by the real generator, systemd and podman of a host.

Many values go through one start; what arrived is read off /proc, so that no program has to say it.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meshctl.plan.release import EnvSecret
from meshctl.secret import Secret
from meshctl.targets.podman.exec_unit import exec_unit, secrets_file, secrets_text
from meshctl.targets.podman.quadlet import quadlet
from tests.unit.podman.made import unit
from tests.unit.podman.test_unit_text import CARRIED, NASTY

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
GENERATOR = "/usr/lib/systemd/system-generators/podman-system-generator"
WAIT = ["/usr/bin/python3", "-c", "import time; time.sleep(3600)"]
QUADLETS = "/etc/containers/systemd"
UNITS = "/etc/systemd/system"
PATIENCE_S = 120


def out(host: Any, *argv: str, input: bytes = b"") -> str:
    """What a command on the host says; it must not fail."""
    result = host.run(list(argv), input=input)
    assert result.code == 0, (argv, result)
    said: str = result.out
    return said


def put(host: Any, path: str, text: str) -> None:
    out(
        host,
        "sh",
        "-c",
        f"umask 077; mkdir -p $(dirname {path}); cat > {path}",
        input=text.encode(),
    )


def process(host: Any, *pid_of: str) -> tuple[list[str], dict[str, str]]:
    """The argv and environment that the kernel has of our program, once it runs; between fork and
    exec a pid still is its parent's program."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        pid = str(host.run(list(pid_of), input=b"").out).strip()
        told = host.run(["cat", f"/proc/{pid}/cmdline"], input=b"")
        argv = told.out.split("\0")[:-1]
        if told.code == 0 and argv[:1] == WAIT[:1]:
            lines = out(host, "cat", f"/proc/{pid}/environ").split("\0")
            return argv, dict(line.split("=", 1) for line in lines if "=" in line)
        time.sleep(0.2)
    raise AssertionError(out(host, "journalctl", "--no-pager", "-n", "60"))


def bare_image(host: Any) -> str:
    """An image of links only, into the host's own /usr, which the unit mounts."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name in ("bin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
    out(host, "podman", "import", "-", "localhost/bare:1", input=held.getvalue())
    (image,) = json.loads(out(host, "podman", "image", "inspect", "localhost/bare:1"))
    return f"localhost/bare@{image['Digest']}"


def values(texts: Sequence[str]) -> dict[str, str]:
    return {f"V{n:02}": text for n, text in enumerate(texts)}


def arrived(environ: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    assert {name: environ.get(name) for name in wanted} == dict(wanted)


def test_values_arrive_in_a_container_as_they_were_written(host: Any) -> None:
    args = [text for text in NASTY if text not in ("", ";")]
    secret = "two\nlines $x \\"
    out(host, "podman", "secret", "create", "--replace", "meshctl-s-1", "-", input=secret.encode())
    text = quadlet(
        unit(
            name="values",
            image=bare_image(host),
            of={"command": [*WAIT, "", ";"], "args": args, "mounts": {"/usr": "/usr"}},
            env=values(NASTY),
            secrets=(EnvSecret(name="HELD", secret="s", version="1"),),
        )
    )

    put(host, f"{QUADLETS}/values.container", text)
    out(host, "systemctl", "daemon-reload")
    out(host, "systemctl", "start", "values.service")

    argv, environ = process(host, "podman", "inspect", "--format", "{{.State.Pid}}", "values")
    assert argv == [*WAIT, "", ";", *args]
    arrived(environ, values(NASTY) | {"HELD": secret})
    out(host, "systemctl", "stop", "values.service")


def test_values_arrive_in_a_program_of_the_host_as_they_were_written(host: Any) -> None:
    secrets = {f"H{n:02}": Secret(text) for n, text in enumerate(NASTY)}
    held = tuple(EnvSecret(name=name, secret="s", version="1") for name in secrets)
    of = unit(
        name="plain",
        of={"runtime": "exec", "command": WAIT, "args": list(NASTY)},
        env=values(NASTY),
        secrets=held,
    )

    put(host, secrets_file(of), secrets_text(secrets).reveal())
    put(host, f"{UNITS}/plain.service", exec_unit(of))
    out(host, "systemctl", "daemon-reload")
    out(host, "systemctl", "start", "plain.service")

    argv, environ = process(host, "systemctl", "show", "--value", "-p", "MainPID", "plain.service")
    assert argv == [*WAIT, *NASTY]
    arrived(environ, values(NASTY) | {name: each.reveal() for name, each in secrets.items()})
    out(host, "systemctl", "stop", "plain.service")


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(CARRIED, min_size=40, max_size=80))
def test_any_values_arrive_in_a_program_of_the_host(host: Any, texts: list[str]) -> None:
    of = unit(name="any", of={"runtime": "exec", "command": WAIT, "args": texts}, env=values(texts))

    put(host, f"{UNITS}/any.service", exec_unit(of))
    out(host, "systemctl", "daemon-reload")
    out(host, "systemctl", "restart", "any.service")

    argv, environ = process(host, "systemctl", "show", "--value", "-p", "MainPID", "any.service")
    assert argv == [*WAIT, *texts]
    arrived(environ, values(texts))


def test_what_we_write_passes_the_generator_and_systemds_own_check(host: Any) -> None:
    text = quadlet(
        unit(
            name="checked",
            of={
                "args": list(filter(None, NASTY)),
                "shm_size": "1GiB",
                "ulimits": {"nofile": "1024"},
                "health": ["true"],
                "mounts": {"/m": "/srv"},
                "devices": ["/dev/null", "nvidia.com/gpu=all"],
            },
            ports=("127.0.0.1:7773:8080",),
        )
    )

    put(host, "/tmp/quadlets/checked.container", text)
    dry = ["env", "QUADLET_UNIT_DIRS=/tmp/quadlets", GENERATOR, "--dryrun"]
    made = out(host, *dry).partition("---checked.service---\n")[2]

    assert "--sdnotify=healthy" in made
    put(host, "/tmp/quadlets/checked.service", made)
    assert out(host, "systemd-analyze", "verify", "/tmp/quadlets/checked.service") == ""


def test_a_unit_with_a_health_command_is_started_once_it_is_healthy(host: Any) -> None:
    """The command is a list: no shell is asked, and an odd word arrives."""
    name = '/a $b%"c\\d'
    asks = ["/usr/bin/python3", "-c", "import os,sys; sys.exit(not os.path.exists(sys.argv[1]))"]
    wakes = "import sys,time; time.sleep(2); open(sys.argv[1], 'w').close(); time.sleep(3600)"
    of = {
        "command": [*WAIT[:2], wakes, name],
        "health": [*asks, name],
        "mounts": {"/usr": "/usr"},
        "probe": {"period": "1s", "timeout": "1s"},
    }

    put(
        host,
        f"{QUADLETS}/wakes.container",
        quadlet(unit(name="wakes", image=bare_image(host), of=of)),
    )
    out(host, "systemctl", "daemon-reload")
    out(host, "systemctl", "start", "wakes.service")

    health = out(host, "podman", "inspect", "--format", "{{.State.Health.Status}}", "wakes")
    assert health.strip() == "healthy"
    out(host, "systemctl", "stop", "wakes.service")
