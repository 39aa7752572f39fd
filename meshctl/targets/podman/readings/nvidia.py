"""What nvidia-smi says in CSV, by the names of its columns. Pure.

It prints MiB, with or without the unit, and words in brackets where it has no number: `[N/A]`,
`[Not Supported]` (GB10, whose memory is the main memory), `[Insufficient Permissions]`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.gpu import CardSeen, Pool, pool
from meshctl.targets.podman.readings.value import Known, Unknown, count, shown, unknown

_SOURCE = "nvidia-smi"
_SLICE = re.compile(r"^\s+MIG (\S{1,40})\s+Device\s+\d+: \(UUID: (MIG-[\w/-]{1,80})\)")
_GPU = re.compile(r"^GPU \d+: .*\(UUID: (GPU-[\w-]{1,60})\)\s*$")
_SLACK = 2**21
"""Bytes by which used and free may exceed the total: each is rounded to MiB."""


class AppSeen(Frozen):
    """A process that holds memory of a card; `used_bytes` null where the tool does not say."""

    card: str
    pid: int
    name: str
    used_bytes: int | None = None


def cards(text: str, listing: str = "") -> tuple[CardSeen, ...]:
    """The cards of `--query-gpu`, with the MIG slices that `nvidia-smi -L` names."""
    slices = _slices(listing)
    return tuple(_card(row, slices) for row in rows(text, "index"))


def apps(text: str) -> tuple[AppSeen, ...]:
    """The processes of `--query-compute-apps`."""
    found = ((row, count(row.get("pid", ""))) for row in rows(text, "gpu_uuid"))
    return tuple(
        AppSeen(
            card=shown(row.get("gpu_uuid", "")), pid=pid, name=shown(row.get("process_name", "")),
            used_bytes=_mib(row, "used_gpu_memory", "used_memory"),
        )
        for row, pid in found
        if pid
    )  # fmt: skip


def rows(text: str, first: str) -> Iterator[dict[str, str]]:
    """The rows below the header that begins with this column; warnings may stand before it. A row
    that does not fit the header is one of whose columns nothing is known."""
    lines = [line for line in text.split("\n") if line.strip()]
    heads = [at for at, line in enumerate(lines) if line.split(",")[0].strip() == first]
    try:
        table = list(csv.reader(lines[heads[0] :], skipinitialspace=True)) if heads else []
    except csv.Error:  # a field that is too long
        return
    names = [name.strip().split(" [")[0] for name in table[0]] if table else []
    for values in table[1:]:
        if len(values) == len(names) == len(set(names)):
            yield dict(zip(names, (value.strip() for value in values), strict=True))
        else:
            yield {first: ",".join(values)}


def _card(row: dict[str, str], slices: dict[str, tuple[str, ...]]) -> CardSeen:
    uuid = shown(row.get("uuid", ""))
    return CardSeen(
        vendor="nvidia", name=shown(row.get("name", "")), id=uuid or shown(row.get("index", "")),
        memory=_memory(row), driver=shown(row.get("driver_version", "")),
        slices=slices.get(uuid, ()),
    )  # fmt: skip


def _memory(row: dict[str, str]) -> Known[Pool] | Unknown:
    raw = ", ".join(f"{name}: {value}" for name, value in row.items())
    total, used, free = (_mib(row, f"memory.{of}") for of in ("total", "used", "free"))
    if total is not None and used is not None and free is not None and used + free > total + _SLACK:
        return unknown(f"{_SOURCE} contradicts itself: used and free are more than all", raw)
    return pool(total, used, _SOURCE, raw)


def _mib(row: dict[str, str], *names: str) -> int | None:
    """Bytes of the first of these columns; a unit other than MiB is not guessed at."""
    said = next((row[name] for name in names if name in row), "")
    number = count(said.removesuffix("MiB"))
    return number * 2**20 if number is not None and number < 2**40 else None


def _slices(listing: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    card = ""
    for line in listing.split("\n"):
        if match := _GPU.match(line):
            card = match[1]
        elif card and (match := _SLICE.match(line)):
            found[card] = (*found.get(card, ()), f"{match[1]} {match[2]}")
    return found
