"""How hosts look: who is up, what it is, what is free; and what a command did on each. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes, show_seconds
from meshctl.ui.hosts import CardEntry, HostAnswer, HostEntry, HostExec, HostFacts, Hosts, Room
from meshctl.ui.render.text import wrapped


def hosts_lines(document: Hosts, width: int) -> list[str]:
    """A block for each host."""
    blocks = [_host(entry, width) for entry in document.hosts]
    return [line for block in blocks for line in (*block, "")][:-1] or ["no podman hosts"]


def _host(entry: HostEntry, width: int) -> list[str]:
    head = f"{entry.name}  {entry.address}"
    if entry.facts is None:
        why = wrapped(entry.why, width, "  ! ")
        return [f"{head}  {entry.state}", *why, *wrapped(entry.hint, width, "  -> ")]
    facts = entry.facts
    up = f"  up {show_seconds(facts.uptime_s)}" if facts.uptime_s is not None else ""
    lines = [head + up, *wrapped(", ".join(_what(facts)), width, "  ")]
    lines += wrapped(f"{_room('memory', facts.memory)}; {_room('disk', facts.disk)}", width, "  ")
    lines += [line for card in facts.cards or () for line in _card(card, width)]
    return lines + [line for why in facts.unknown for line in wrapped(why, width, "  ! ")]


def _what(facts: HostFacts) -> list[str]:
    known = [facts.os or "unknown system"]
    known += [f"kernel {facts.kernel}"] if facts.kernel else []
    known.append(f"podman {facts.podman}" if facts.podman else "no podman")
    return [*known, f"systemd {facts.systemd}" if facts.systemd else "no systemd"]


def _room(what: str, room: Room | None) -> str:
    if room is None:
        return f"{what} unknown"
    return f"{what} {show_bytes(room.free_bytes)} free of {show_bytes(room.total_bytes)}"


def _card(card: CardEntry, width: int) -> list[str]:
    return wrapped(_room(f"{card.name}:", card.memory), width, "  ")


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
