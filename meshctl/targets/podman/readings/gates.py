"""What must hold on a host before a release is placed there, judged from one reading. Pure.

A gate whose reading is unknown is unclear, never a pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshctl.quantities import show_bytes
from meshctl.targets.podman.readings.card_gates import card_gates
from meshctl.targets.podman.readings.gpu import Pool
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.need import GateFinding, Need, unclear
from meshctl.targets.podman.readings.value import Known, Unknown


def gates(
    seen: HostSeen, need: Need, ours: frozenset[int] = frozenset()
) -> tuple[GateFinding, ...]:
    """Every gate that this release has. `ours`: processes of the release that it takes over from,
    which may hold its port and its card (and of NVIDIA's cards it is known how much of them)."""
    return (
        *_memory(seen, need),
        *(_disk(seen, folder, size) for folder, size in need.disk.items()),
        *card_gates(seen, need, ours),
        *(_port(seen, port, ours) for port in need.ports),
        *_image(seen, need),
        *(_file(seen, path, size) for path, size in need.files.items()),
        *_linger(seen, need),
        *_podman(seen, need),
    )


def _room(name: str, reading: Known[Pool] | Unknown, wanted: int, hint: str) -> GateFinding:
    if isinstance(reading, Unknown):
        return unclear(name, reading, hint)
    free = reading.value.free_bytes
    said = f"{show_bytes(free)} free, {show_bytes(wanted)} needed ({reading.source})"
    if free >= wanted:
        return GateFinding(name=name, verdict="pass", evidence=said)
    return GateFinding(name=name, verdict="fail", evidence=said, hint=hint)


def _memory(seen: HostSeen, need: Need) -> Iterator[GateFinding]:
    """With one memory for cards and processors, both have to fit into it at once."""
    on_cards = sum(card.free_bytes * card.count for card in need.cards)
    wanted = need.memory_bytes + (on_cards if need.unified_memory else 0)
    if wanted:
        yield _room("memory", seen.memory, wanted, "stop what else runs, or plan a smaller release")


def _disk(seen: HostSeen, folder: str, size: int) -> GateFinding:
    reading = seen.disks.get(folder, Unknown(reason=f"{folder} was not asked for"))
    return _room(f"disk {folder}", reading, size, f"make room below {folder}")


def _port(seen: HostSeen, port: int, ours: frozenset[int]) -> GateFinding:
    name, hint = f"port {port}", "end it (see `ss -ltnp` on the host), or take another port"
    if isinstance(seen.listeners, Unknown):
        return unclear(name, seen.listeners, hint)
    holders = [one for one in seen.listeners.value if one.port == port and one.pid not in ours]
    if not holders:
        return GateFinding(name=name, verdict="pass", evidence="free, or held by the same service")
    said = ", ".join(f"{one.name or 'another user'} (pid {one.pid or '?'})" for one in holders)
    return GateFinding(name=name, verdict="fail", evidence=f"held by {said}", hint=hint)


def _image(seen: HostSeen, need: Need) -> Iterator[GateFinding]:
    if not need.image:
        return
    if isinstance(seen.images, Unknown):
        yield unclear("image", seen.images, "look at podman: `podman images --digests`")
        return
    there = any(need.image in one.digests for one in seen.images.value)
    said = f"{need.image[:19]} is {'' if there else 'not '}on the host"
    hint = "" if there else "it is pulled or sent before the swap"
    yield GateFinding(name="image", verdict="pass" if there else "fail", evidence=said, hint=hint)


def _file(seen: HostSeen, path: str, size: int) -> GateFinding:
    """By size alone: reading a model to hash it takes minutes, and is `payload verify`'s."""
    name, found = f"payload {path}", seen.files.get(path)
    if found is None:
        return unclear(name, Unknown(reason="the host did not say"), "ask again")
    if found.size_bytes == size:
        return GateFinding(name=name, verdict="pass", evidence=f"{size} bytes, as declared")
    there = "absent" if found.size_bytes is None else f"{found.size_bytes} bytes"
    said = f"{there}, {size} bytes declared"
    return GateFinding(name=name, verdict="fail", evidence=said, hint="send the payload again")


def _linger(seen: HostSeen, need: Need) -> Iterator[GateFinding]:
    """Without linger the user's units end when the last ssh session does."""
    if not need.user:
        return
    hint = "loginctl enable-linger"
    if isinstance(seen.linger, Unknown):
        yield unclear("linger", seen.linger, hint)
    elif seen.linger.value:
        yield GateFinding(name="linger", verdict="pass", evidence="is on")
    else:
        yield GateFinding(name="linger", verdict="fail", evidence="is off", hint=hint)


def _podman(seen: HostSeen, need: Need) -> Iterator[GateFinding]:
    if not need.podman:
        return
    least, hint = ".".join(map(str, need.podman)), "upgrade podman on the host"
    if isinstance(seen.podman, Unknown):
        yield unclear("podman", seen.podman, "install podman on the host")
        return
    numbers = tuple(map(int, re.findall(r"\d{1,9}", seen.podman.value.split("-")[0])))
    enough = numbers[: len(need.podman)] >= need.podman
    said = f"podman {seen.podman.value}, at least {least} needed"
    yield GateFinding(
        name="podman", verdict="pass" if enough else "fail", evidence=said,
        hint="" if enough else hint,
    )  # fmt: skip
