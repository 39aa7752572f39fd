"""What a host is and has, read from the answer to `look`; unknown is never zero. Pure."""

from __future__ import annotations

import re

from meshctl.spec.model import Frozen
from meshctl.targets.podman.cards import CardSeen, cards
from meshctl.targets.podman.look import sections


class Room(Frozen):
    """Bytes of memory or disk, and how many of them are free for somebody new."""

    total_bytes: int
    free_bytes: int


class HostReading(Frozen):
    """One host. Null and empty mean unknown; `cut` that the answer was not whole."""

    os: str = ""
    kernel: str = ""
    boot_id: str = ""
    uptime_s: float | None = None
    memory: Room | None = None
    disk: Room | None = None
    podman: str = ""
    systemd: str = ""
    failed_units: tuple[str, ...] = ()
    cards: tuple[CardSeen, ...] = ()
    cut: bool = False


def read(text: str, mark: str) -> HostReading:
    """Any text is a reading; what is not in it, or cannot be, is unknown."""
    said = sections(text, mark)
    return HostReading(
        os=_short(said.get("os", "").strip("\"'")),
        kernel=_short(said.get("kernel", "")),
        boot_id=_matched(r"[0-9a-f-]{36}", said.get("boot", "")),
        uptime_s=_uptime(said.get("uptime", "")),
        memory=_memory(said.get("memory", "")),
        disk=_disk(said.get("disk", "")),
        podman=_matched(r"podman version (\d[\w.+~-]{0,40})", said.get("podman", "")),
        systemd=_matched(r"systemd (\d{1,4})\b.*", said.get("systemd", "").partition("\n")[0]),
        failed_units=_failed(said.get("failed", "")),
        cards=cards(said.get("nvidia", ""), said.get("rocm", ""), said.get("drm", "")),
        cut="end" not in said,
    )


def _short(text: str) -> str:
    return text.partition("\n")[0][:80]


def _matched(pattern: str, text: str) -> str:
    """The group, or all of it, where the whole line is so."""
    match = re.fullmatch(pattern, text.strip())
    return match[match.lastindex or 0] if match else ""


def _uptime(text: str) -> float | None:
    match = re.match(r"(\d{1,12}(?:\.\d{1,6})?) ", text)
    return float(match[1]) if match else None


def _memory(text: str) -> Room | None:
    """MemAvailable is what a new process gets without swapping; proc(5)."""
    lines = dict(re.findall(r"^(\w+): +(\d{1,15}) kB$", text, re.MULTILINE))
    return _room(lines.get("MemTotal"), lines.get("MemAvailable"))


def _disk(text: str) -> Room | None:
    """The last line of `df -P -k`: device, blocks, used, available, percent, mount."""
    match = re.search(r"^.* (\d{1,15}) +\d{1,15} +(\d{1,15}) +\d{1,3}% /$", text, re.MULTILINE)
    return _room(*match.groups()) if match else None


def _room(total_kib: str | None, free_kib: str | None) -> Room | None:
    """More free than there is, or nothing at all, was misread."""
    if total_kib is None or free_kib is None or not 0 < int(total_kib) >= int(free_kib):
        return None
    return Room(total_bytes=int(total_kib) * 1024, free_bytes=int(free_kib) * 1024)


def _failed(text: str) -> tuple[str, ...]:
    """The first word of each line is the unit's name."""
    units = (line.split()[0] for line in text.splitlines() if line.strip())
    return tuple(unit for unit in units if re.fullmatch(r"[\w:.@\\-]{1,256}", unit))
