"""How hosts look, those that cannot be read included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.targets.podman.readings.host import parse
from meshctl.targets.podman.readings.need import GateFinding
from meshctl.targets.podman.readings.strays import Stray
from meshctl.ui.host_check import CheckedHost, CheckedService, HostCheck
from meshctl.ui.hosts import (
    CardEntry,
    HostAnswer,
    HostEntry,
    HostExec,
    HostFacts,
    Hosts,
    Room,
    host_facts,
)
from meshctl.ui.render import render

GIB = 2**30
FACTS = HostFacts(
    os="Debian GNU/Linux 13 (trixie)",
    kernel="6.12.0",
    boot_id="88149869-f4b2-4ace-adbc-7084647ff9e0",
    uptime_s=93600.0,
    podman="5.4.2",
    systemd=257,
    memory=Room(total_bytes=64 * GIB, free_bytes=40 * GIB),
    disk=Room(total_bytes=931 * GIB, free_bytes=120 * GIB),
    cards=(
        CardEntry(name="R9700", id="card0", memory=Room(total_bytes=32 * GIB, free_bytes=2 * GIB)),
        CardEntry(name="NVIDIA GB10", id="GPU-1", memory=None),
    ),
    unknown=("NVIDIA GB10: nvidia-smi gives no number (0, GPU-1, NVIDIA GB10, [N/A], [N/A])",),
)
NOTHING = host_facts(parse("", "@mark"), unified=False)
CHECKED = CheckedService(
    name="chat",
    verdict="fail",
    unit="failed",
    restarts=7,
    cause="bind: address already in use: another process holds the port: `ss -ltnp` names it",
    gates=(
        GateFinding(
            name="port 7773",
            verdict="fail",
            evidence="held by llama-server (pid 42)",
            hint="end it (see `ss -ltnp` on the host), or take another port",
        ),
        GateFinding(name="image", verdict="pass", evidence="sha256:111111111111 is on the host"),
        GateFinding(name="card R9700", verdict="unclear", evidence="rocm-smi was not heard"),
    ),
    strays=(Stray(kind="process", name="llama-server", pid=42, holds="port 7773"),),
    unread=("cards of AMD",),
)
DOCUMENTS = {
    "host-check": HostCheck(
        hosts=(
            CheckedHost(
                name="attic", address="ops@attic", state="up", why="", hint="", services=(CHECKED,)
            ),
            CheckedHost(name="bare", address="bare", state="up", why="", hint="", services=()),
            CheckedHost(
                name="gone",
                address="gone",
                state="unreachable",
                why="gone cannot be reached: no answer within 15 s",
                hint="try `ssh gone true`",
                services=(),
            ),
        )
    ),
    "hosts": Hosts(
        hosts=(
            HostEntry(name="attic", address="ops@attic", state="up", facts=FACTS, why="", hint=""),
            HostEntry(
                name="bare",
                address="bare",
                state="up",
                facts=NOTHING,
                why="",
                hint="",
            ),
            HostEntry(
                name="gone",
                address="gone",
                state="unreachable",
                facts=None,
                why="gone cannot be reached: no answer within 15 s",
                hint="try `ssh gone true`",
            ),
        )
    ),
    "hosts-none": Hosts(hosts=()),
    "host-exec": HostExec(
        command=("uptime",),
        answers=(
            HostAnswer(name="attic", code=0, out="up 2 days\n", err="", why="", hint=""),
            HostAnswer(name="bare", code=127, out="", err="sh: no uptime\n", why="", hint=""),
            HostAnswer(
                name="gone", code=None, out="", err="", why="no answer", hint="try `ssh gone true`"
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hosts_look_like_the_golden_ones(name: str, golden: Callable[[str, str], None]) -> None:
    shown = render(DOCUMENTS[name])

    golden(f"ui/{name}", "\n".join(shown) + "\n")
    assert [line for line in shown if len(line) > 80] == []
