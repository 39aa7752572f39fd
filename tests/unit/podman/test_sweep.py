"""What may be ended on a host, and what never."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.targets.podman.readings.host import HostSeen, parse
from meshctl.targets.podman.readings.need import Need
from meshctl.targets.podman.readings.strays import Stray
from meshctl.targets.podman.readings.sweep import InTheWay, in_the_way, processes
from meshctl.ui.host_sweep import HostSweep, SweptHost
from meshctl.ui.render.host_sweep import host_sweep_lines

NEED = Need(service="chat", unit="chat.service", container="chat", ports=(7773,))
HOLDER = Stray(kind="process", name="python3", pid=7, holds="port 7773")


def host(units: str = "", containers: str = "[]") -> HostSeen:
    said = {"units": units, "containers": containers, "end": ""}
    text = "".join(f"\n@t section {name} 0\n{body}\n" for name, body in said.items())
    return parse(text, "@t")


def swept(printed: str, *strays: Stray, **more: object) -> tuple[InTheWay, ...]:
    known = processes(f"{printed}end\n")
    assert known is not None
    given = {"seen": host(), "need": NEED, "ours": frozenset(), "legacy": (), **more}
    return in_the_way(strays=strays, known=known, **given)  # type: ignore[arg-type]


def test_a_process_that_a_person_began_is_ended_by_its_pid_and_its_start() -> None:
    (one,) = swept("process 7 4711 - - python3 -m http.server\n", HOLDER)

    assert (one.kind, one.order, one.spared) == ("process", "process:7:4711", "")


def test_what_systemd_started_is_stopped_there() -> None:
    (one,) = swept("process 7 4711 old.service - /usr/bin/llama\n", HOLDER)

    assert (one.kind, one.order, one.holds) == ("unit", "unit:old.service", "port 7773")


@pytest.mark.parametrize(
    "printed",
    [
        "process 7 4711 ssh.service - sshd: ops@pts/0\n",
        "process 7 4711 other.service managed /usr/bin/llama\n",
    ],
    ids=["the-way-in", "another-fleet"],
)
def test_the_way_in_and_other_releases_are_told_and_left_alone(printed: str) -> None:
    (one,) = swept(printed, HOLDER)

    assert one.spared


def test_what_was_begun_by_hand_over_ssh_is_a_process_like_any_other() -> None:
    (one,) = swept("process 7 4711 ssh.service - python3 left-over.py\n", HOLDER)

    assert (one.order, one.spared) == ("process:7:4711", "")


def test_a_holder_that_nobody_can_see_is_told_and_left_alone() -> None:
    (one,) = swept("", Stray(kind="process", name="?", pid=None, holds="port 7773"))

    assert (one.order, bool(one.spared)) == ("", True)


def test_ours_are_never_in_the_way_by_the_word() -> None:
    printed = "process 7 1 - - engine A\nprocess 8 2 - - engine B\n"

    (one,) = swept(printed, ours=frozenset({7}))

    assert one.order == "process:8:2"


def test_legacy_names_are_units_and_containers() -> None:
    unit = "Id=old.service\nLoadState=loaded\nActiveState=active\n"
    listed = f'[{{"Names": ["old"], "Id": "{"a" * 64}", "Image": "x", "State": "exited"}}]'

    found = swept("", seen=host(unit, listed), legacy=("old",))

    assert [one.order for one in found] == ["unit:old.service", f"container:{'a' * 64}"]


def test_a_cut_answer_is_no_list() -> None:
    assert processes("process 7 4711 - - x\n") is None


def test_what_a_process_calls_itself_cannot_rewrite_the_terminal() -> None:
    (one,) = swept("process 7 1 - - \x1b[2Jnice\n", HOLDER)

    assert "\x1b" not in one.what


def test_how_a_sweep_looks(golden: Callable[[str, str], None]) -> None:
    thing = InTheWay(kind="unit", what="old.service (llama-server -m x)", holds="port 7773",
                     order="unit:old.service")  # fmt: skip
    stays = InTheWay(kind="process", what="?", holds="port 7774", order="", spared="not seen")
    document = HostSweep(
        hosts=(
            SweptHost(name="attic", state="up", why="", things=(stays,), ended=(thing,)),
            SweptHost(name="shed", state="up", why="", things=()),
            SweptHost(name="cellar", state="unreachable", why="no answer within 15 s", things=()),
        )
    )

    golden("podman/host-sweep", "\n".join(host_sweep_lines(document, 80)) + "\n")
