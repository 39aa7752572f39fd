"""How hosts look: who is up, what it is, what is free; and what a command did on each. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes, show_seconds
from meshctl.targets.podman.cards import CardSeen
from meshctl.targets.podman.reading import HostReading, Room
from meshctl.ui.hosts import HostAnswer, HostEntry, HostExec, Hosts
from meshctl.ui.render.text import wrapped


def hosts_lines(document: Hosts, width: int) -> list[str]:
    """A block for each host."""
    blocks = [_host(entry, width) for entry in document.hosts]
    return [line for block in blocks for line in (*block, "")][:-1] or ["no podman hosts"]


def _host(entry: HostEntry, width: int) -> list[str]:
    if entry.reading is None:
        lines = [f"{entry.name}  {entry.address}  {entry.state}"]
        lines += wrapped(entry.why, width, "  ! ")
        return lines + (wrapped(entry.hint, width, "  -> ") if entry.hint else [])
    reading = entry.reading
    up = f"  up {show_seconds(reading.uptime_s)}" if reading.uptime_s is not None else ""
    lines = [f"{entry.name}  {entry.address}{up}"]
    lines += wrapped(", ".join(_what(reading)), width, "  ")
    lines += wrapped(
        f"{_room('memory', reading.memory)}; {_room('disk', reading.disk)}", width, "  "
    )
    lines += [line for card in reading.cards for line in _card(card, width)]
    lines += [f"  ! failed: {unit}" for unit in reading.failed_units]
    return lines + (["  ! the reading was cut: some of it is missing"] if reading.cut else [])


def _what(reading: HostReading) -> list[str]:
    known = [reading.os or "unknown system"]
    known += [f"kernel {reading.kernel}"] if reading.kernel else []
    absent = "unknown" if reading.cut else "none"
    return [*known, f"podman {reading.podman or absent}", f"systemd {reading.systemd or absent}"]


def _room(what: str, room: Room | None) -> str:
    if room is None:
        return f"{what} unknown"
    return f"{what} {show_bytes(room.free_bytes)} free of {show_bytes(room.total_bytes)}"


def _card(card: CardSeen, width: int) -> list[str]:
    if card.total_bytes is None or card.used_bytes is None:
        return wrapped(f"{card.name}: unknown; {card.source} says {card.why}", width, "  ! ")
    free = card.total_bytes - card.used_bytes
    told = f"{card.name}: {show_bytes(free)} free of {show_bytes(card.total_bytes)}"
    return wrapped(f"{told} ({card.source})", width, "  ")


def host_exec_lines(document: HostExec) -> list[str]:
    """What each host said, under its name and how it ended."""
    blocks = [_answer(answer) for answer in document.answers]
    return [line for block in blocks for line in (*block, "")][:-1]


def _answer(answer: HostAnswer) -> list[str]:
    if answer.code is None:
        hint = [f"  -> {answer.hint}"] if answer.hint else []
        return [f"{answer.name}: {answer.why}", *hint]
    said = [*answer.out.splitlines(), *answer.err.splitlines()]
    return [f"{answer.name}: exit {answer.code}", *(f"  {line}" for line in said)]
