"""How hosts look, those that cannot be read included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.targets.podman.cards import CardSeen
from meshctl.targets.podman.reading import HostReading, Room
from meshctl.ui.hosts import HostAnswer, HostEntry, HostExec, Hosts
from meshctl.ui.render import render

GIB = 2**30
READING = HostReading(
    os="Debian GNU/Linux 13 (trixie)",
    kernel="6.12.0",
    uptime_s=93600.0,
    memory=Room(total_bytes=64 * GIB, free_bytes=40 * GIB),
    podman="5.4.2",
    systemd="257",
    failed_units=("chat.service",),
    cards=(
        CardSeen(name="R9700", total_bytes=32 * GIB, used_bytes=30 * GIB, source="rocm-smi"),
        CardSeen(
            name="NVIDIA GB10",
            total_bytes=None,
            used_bytes=None,
            source="nvidia-smi",
            why="index: 0, name: NVIDIA GB10, memory.total [MiB]: [N/A], memory.used [MiB]: [N/A]",
        ),
    ),
)
DOCUMENTS = {
    "hosts": Hosts(
        hosts=(
            HostEntry(
                name="attic", address="ops@attic", state="up", reading=READING, why="", hint=""
            ),
            HostEntry(
                name="bare",
                address="bare",
                state="up",
                reading=HostReading(cut=True),
                why="",
                hint="",
            ),
            HostEntry(
                name="gone",
                address="gone",
                state="unreachable",
                reading=None,
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
