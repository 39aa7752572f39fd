"""Reads what tools say of the memory of GPUs: a number that is right, or none. Pure.

By the names of columns, for tools move them, mix units and print placeholders (facts/budget section
3.1). What contradicts itself is unknown, with the line it came from.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from pydantic import Field

from meshctl.spec.model import Frozen

MIB = 2**20
_NUMBER = re.compile(r"\s*(\d{1,15})\s*(MiB|B)?\s*")
_VRAM = ("VRAM Total Memory (B)", "VRAM Total Used Memory (B)")
_GTT = ("GTT Total Memory (B)", "GTT Total Used Memory (B)")


class CardSeen(Frozen):
    """The memory of one card in bytes; null is unknown, and `why` then holds what was said."""

    name: str
    total_bytes: int | None
    used_bytes: int | None
    source: str = Field(description="the tool that said so")
    why: str = ""


def cards(nvidia: str, rocm: str, drm: str) -> tuple[CardSeen, ...]:
    """Every card that some tool knows. For AMD rocm-smi goes before the files of the kernel; where
    the kernel has a larger pool of GTT, the card shares the main memory, and that pool is meant."""
    shared = {card.name: card for card in _drm(drm)}
    known = tuple(_rocm(rocm)) or tuple(shared.values())
    return (*_nvidia(nvidia), *(_larger(card, shared.get(card.name)) for card in known))


def _larger(card: CardSeen, other: CardSeen | None) -> CardSeen:
    if other is None or other.total_bytes is None:
        return card
    return other if (card.total_bytes or 0) < other.total_bytes else card


def _nvidia(text: str) -> Iterator[CardSeen]:
    for row in _rows(text, "index"):
        total, used = _amount(row, "memory.total", MIB), _amount(row, "memory.used", MIB)
        yield _card(row.get("name", "?"), total, used, "nvidia-smi", row)


def _rocm(text: str) -> Iterator[CardSeen]:
    for row in _rows(text, "device"):
        pools = [tuple(_amount(row, name, 1) for name in names) for names in (_VRAM, _GTT)]
        total, used = max(pools, key=lambda pool: pool[0] or 0)
        yield _card(row.get("device", "?"), total, used, "rocm-smi", row)


def _drm(text: str) -> Iterator[CardSeen]:
    """Lines `/sys/class/drm/card0/device vram_total 123`."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"/sys/class/drm/(card\d+)/device (\w+) (\d{1,15})", line)
        if match:
            found.setdefault(match[1], {})[match[2]] = match[3]
    for name, row in found.items():
        pools = [
            (_amount(row, f"{pool}_total", 1), _amount(row, f"{pool}_used", 1))
            for pool in ("vram", "gtt")
        ]
        total, used = max(pools, key=lambda pool: pool[0] or 0)
        yield _card(name, total, used, "the kernel", row)


def _card(
    name: str, total: int | None, used: int | None, source: str, row: dict[str, str]
) -> CardSeen:
    """A card that uses more than it has, or has nothing, was misread."""
    if total and used is not None and used <= total:
        return CardSeen(name=name, total_bytes=total, used_bytes=used, source=source)
    said = ", ".join(f"{key}: {value}" for key, value in row.items())
    return CardSeen(name=name, total_bytes=None, used_bytes=None, source=source, why=said)


def _rows(text: str, first: str) -> Iterator[dict[str, str]]:
    """The rows under the header that begins with this column; warnings may stand before it."""
    lines = [line for line in text.splitlines() if line.strip()]
    heads = [at for at, line in enumerate(lines) if line.split(",")[0].strip() == first]
    if not heads:
        return
    head, *rest = csv.reader(lines[heads[0] :], skipinitialspace=True)
    names = [name.strip() for name in head]
    for values in rest:
        if len(values) == len(names):
            yield dict(zip(names, (value.strip() for value in values), strict=True))


def _amount(row: dict[str, str], column: str, unit: int) -> int | None:
    """Bytes of a column, whose name may end in a unit; None where there is no plain number."""
    found = [value for name, value in row.items() if name.split(" [")[0] == column]
    match = _NUMBER.fullmatch(found[0]) if found else None
    return int(match[1]) * unit if match else None
