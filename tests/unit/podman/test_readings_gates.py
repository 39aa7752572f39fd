"""What must hold before a release is placed: each gate can fail, and unknown is never a pass."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.targets.podman.readings.gates import gates
from meshctl.targets.podman.readings.gpu import CardSeen, Pool
from meshctl.targets.podman.readings.holders import ContainerSeen, ImageSeen, Listener
from meshctl.targets.podman.readings.host import FileSeen, HostSeen, parse
from meshctl.targets.podman.readings.need import CardNeed, GateFinding, Need
from meshctl.targets.podman.readings.nvidia import AppSeen
from meshctl.targets.podman.readings.strays import strays
from meshctl.targets.podman.readings.value import Known, Unknown

GIB = 2**30
IMAGE = f"sha256:{'a' * 64}"
UNREAD = Unknown(reason="it did not answer in time", raw="half a li")


def room(total: int, free: int) -> Known[Pool]:
    return Known[Pool](value=Pool(total_bytes=total * GIB, used_bytes=(total - free) * GIB))


def card(total: int, free: int, vendor: str = "nvidia", slices: tuple[str, ...] = ()) -> CardSeen:
    return CardSeen(vendor=vendor, name="X", id="0", memory=room(total, free), slices=slices)


def known_cards(*cards: CardSeen) -> Known[tuple[CardSeen, ...]]:
    return Known[tuple[CardSeen, ...]](value=cards)


def there(size: int | None) -> dict[str, FileSeen]:
    return {"/srv/m.gguf": FileSeen(path="/srv/m.gguf", size_bytes=size)}


GB10 = CardSeen(vendor="nvidia", name="GB10", id="0", memory=UNREAD)
LISTENER = Listener(address="0.0.0.0", port=7773, pid=42, name="llama-server")
BOX = ContainerSeen(
    name="chat", id="c", image="i", image_id="d", state="running", pid=42, ports=(7773,)
)
GOOD: dict[str, Any] = {
    "whole": True,
    "memory": room(128, 100),
    "disks": {"/srv": room(1000, 500)},
    "cards": known_cards(card(24, 23)),
    "cdi": ("nvidia.com/gpu",),
    "listeners": Known[tuple[Listener, ...]](value=()),
    "containers": Known[tuple[ContainerSeen, ...]](value=()),
    "images": Known[tuple[ImageSeen, ...]](
        value=(ImageSeen(id="i", digests=(IMAGE,), size_bytes=1),)
    ),
    "files": there(7),
    "linger": Known[bool](value=True),
    "podman": Known[str](value="5.4.2"),
}
NEED = Need(
    service="chat", unit="chat.service", container="chat", user=True, memory_bytes=8 * GIB,
    cards=(CardNeed(name="L4", vendor="nvidia", total_bytes=24 * GIB, free_bytes=20 * GIB),),
    disk={"/srv": 50 * GIB}, ports=(7773,), image=IMAGE, files={"/srv/m.gguf": 7}, podman=(5, 0),
)  # fmt: skip
NAMES = [
    "memory", "disk /srv", "card L4", "container device nvidia", "port 7773", "image",
    "payload /srv/m.gguf", "linger", "podman",
]  # fmt: skip


def host(**changed: object) -> HostSeen:
    return parse("", "@t").model_copy(update={**GOOD, **changed})


def gate(name: str, need: Need = NEED, **changed: object) -> GateFinding:
    [found] = [one for one in gates(host(**changed), need) if one.name == name]
    return found


def test_a_host_that_has_what_is_needed_passes_every_gate() -> None:
    found = gates(host(), NEED)

    assert [one.name for one in found] == NAMES
    assert {one.verdict for one in found} == {"pass"}


@pytest.mark.parametrize(
    ("name", "changed", "evidence"),
    [
        ("memory", {"memory": room(128, 7)}, "7 GiB free, 8 GiB needed"),
        ("disk /srv", {"disks": {"/srv": room(1000, 49)}}, "49 GiB free"),
        ("card L4", {"cards": known_cards()}, "no card of nvidia"),
        ("card L4", {"cards": known_cards(card(24, 19))}, "19 GiB of 24 GiB free"),
        ("card L4", {"cards": known_cards(card(16, 16))}, "16 GiB of 16 GiB"),
        ("card L4", {"cards": known_cards(card(24, 24, vendor="amd"))}, "no card of nvidia"),
        ("container device nvidia", {"cdi": ()}, "none"),
        (
            "container device nvidia",
            {"cdi_drivers": ("550.1",), "driver": Known[str](value="580.2")},
            "made for driver 550.1, but 580.2 is loaded",
        ),
        (
            "port 7773",
            {"listeners": Known[tuple[Listener, ...]](value=(LISTENER,))},
            "held by llama-server (pid 42)",
        ),
        ("image", {"images": Known[tuple[ImageSeen, ...]](value=())}, "not on the host"),
        ("payload /srv/m.gguf", {"files": there(6)}, "6 bytes, 7"),
        ("payload /srv/m.gguf", {"files": there(None)}, "absent"),
        ("linger", {"linger": Known[bool](value=False)}, "is off"),
        ("podman", {"podman": Known[str](value="4.9.3")}, "at least 5.0"),
    ],
)  # fmt: skip
def test_a_gate_that_does_not_hold_fails_with_evidence_and_a_hint(
    name: str, changed: dict[str, Any], evidence: str
) -> None:
    found = gate(name, **changed)

    assert found.verdict == "fail"
    assert evidence in found.evidence and found.hint


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("memory", {"memory": UNREAD}),
        ("disk /srv", {"disks": {}}),
        ("card L4", {"cards": UNREAD}),
        ("card L4", {"cards": known_cards(GB10)}),
        ("card L4", {"cards": known_cards(card(24, 24, slices=("1g.10gb",)))}),
        ("container device nvidia", {"cdi": (), "whole": False}),
        ("port 7773", {"listeners": UNREAD}),
        ("image", {"images": UNREAD}),
        ("payload /srv/m.gguf", {"files": {}}),
        ("linger", {"linger": UNREAD}),
        ("podman", {"podman": UNREAD}),
    ],
)  # fmt: skip
def test_a_gate_whose_reading_is_unknown_is_unclear(name: str, changed: dict[str, Any]) -> None:
    found = gate(name, **changed)

    assert found.verdict == "unclear" and found.evidence and found.hint


def test_shared_memory_must_hold_the_card_s_part_as_well() -> None:
    shared = NEED.model_copy(update={"unified_memory": True})

    assert gate("memory", shared, memory=room(128, 27)).verdict == "fail"
    assert gate("memory", shared, memory=room(128, 28)).verdict == "pass"


def test_the_release_that_is_replaced_may_hold_the_port() -> None:
    seen = host(listeners=Known[tuple[Listener, ...]](value=(LISTENER,)))

    verdicts = [one.verdict for one in gates(seen, NEED, frozenset({42})) if "port" in one.name]

    assert verdicts == ["pass"]


def test_what_the_replaced_release_holds_of_a_card_counts_as_free() -> None:
    apps = (
        AppSeen(card="0", pid=42, name="llama-server", used_bytes=18 * GIB),
        AppSeen(card="0", pid=9, name="python", used_bytes=2 * GIB),
    )
    seen = host(cards=known_cards(card(24, 4)), apps=apps)

    with_ours, without = (
        [one.verdict for one in gates(seen, NEED, ours) if one.name == "card L4"]
        for ours in (frozenset({42}), frozenset({9}))
    )

    assert (with_ours, without) == (["pass"], ["fail"])


def test_who_holds_a_card_of_amd_is_not_told_so_a_full_one_is_unclear_when_replacing() -> None:
    amd = CardNeed(name="R9700", vendor="amd", total_bytes=32 * GIB, free_bytes=20 * GIB)
    need = NEED.model_copy(update={"cards": (amd,)})
    seen = host(cards=known_cards(card(32, 1, vendor="amd")))

    replacing, anew = (
        [one.verdict for one in gates(seen, need, ours) if one.name == "card R9700"]
        for ours in (frozenset({42}), frozenset[int]())
    )

    assert (replacing, anew) == (["unclear"], ["fail"])


def test_amd_cards_reach_containers_by_device_files() -> None:
    amd = CardNeed(name="R9700", vendor="amd", total_bytes=32 * GIB)
    need = NEED.model_copy(update={"cards": (amd,)})
    there = ("/dev/kfd", "/dev/dri/renderD128")

    assert gate("container device amd", need, devices=there).verdict == "pass"
    assert gate("container device amd", need, devices=("/dev/kfd",)).verdict == "fail"


def test_strays_are_named_with_what_they_hold() -> None:
    seen = host(
        listeners=Known[tuple[Listener, ...]](value=(LISTENER,)),
        containers=Known[tuple[ContainerSeen, ...]](value=(BOX,)),
        apps=(AppSeen(card="GPU-1", pid=9, name="python"),),
    )

    found = strays(seen, NEED, frozenset())

    assert {(one.kind, one.name, one.holds) for one in found.found} == {
        ("process", "llama-server", "port 7773"),
        ("process", "python", "card GPU-1"),
        ("container", "chat", "name chat"),
        ("container", "chat", "port 7773"),
    }
    assert found.unread == ()


def test_our_own_processes_are_no_strays() -> None:
    seen = host(
        listeners=Known[tuple[Listener, ...]](value=(LISTENER,)),
        containers=Known[tuple[ContainerSeen, ...]](value=(BOX,)),
        apps=(AppSeen(card="GPU-1", pid=42, name="llama-server"),),
    )

    assert strays(seen, NEED, frozenset({42})).found == ()


def test_a_stopped_container_holds_its_name_and_no_port() -> None:
    stopped = BOX.model_copy(update={"state": "exited", "pid": None})
    seen = host(containers=Known[tuple[ContainerSeen, ...]](value=(stopped,)))

    assert [one.holds for one in strays(seen, NEED, frozenset()).found] == ["name chat"]


def test_what_could_not_be_looked_at_is_said_beside_the_strays() -> None:
    found = strays(host(listeners=UNREAD, containers=UNREAD), NEED, frozenset())

    assert found.unread == ("ports", "containers")
