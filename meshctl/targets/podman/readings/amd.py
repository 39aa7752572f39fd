"""What rocm-smi, amd-smi and the kernel say of cards of AMD, by the names of their fields. Pure.

rocm-smi counts in bytes and prints used before total or after it, by version: read by position,
the two were once swapped on a whole fleet. amd-smi counts in MiB, and calls them MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from meshctl.targets.podman.readings.gpu import Pool, Told, pool
from meshctl.targets.podman.readings.nvidia import rows
from meshctl.targets.podman.readings.value import Known, Unknown, count, objects, parsed, shown

_TEXT = re.compile(r"^(GPU\[\d{1,3}\])\s*:\s*((?:VRAM|GTT) Total (?:Used )?Memory \(B\)):\s*(\S+)")
_FILE = re.compile(r"^/sys/class/drm/(card\d{1,3})/device ((?:vram|gtt)_(?:total|used)) (\d{1,18})")
_SCALE = {"B": 1, "KB": 2**10, "MB": 2**20, "MIB": 2**20, "GB": 2**30, "GIB": 2**30}
"""amd-smi divides bytes by 1024 twice and prints `MB`."""


def rocm(text: str) -> list[Told]:
    """rocm-smi --showmeminfo vram gtt, whether as JSON, CSV or text for people."""
    found = parsed(text)
    if isinstance(found, dict):
        told = {name: one for name, one in found.items() if isinstance(one, dict)}
        return [_rocm(name, one) for name, one in told.items() if re.fullmatch(r"card\d+", name)]
    if table := list(rows(text, "device")):
        return [_rocm(shown(row["device"]), row) for row in table]
    return [_rocm(name, row) for name, row in _lines(_TEXT, text)]


def amdsmi(text: str) -> list[Told]:
    """amd-smi metric --mem-usage, as JSON (a list, or a list under `gpu_data`) or as CSV."""
    found = parsed(text)
    listed = found.get("gpu_data") if isinstance(found, dict) else found
    told = [(one, one.get("mem_usage")) for one in objects(listed)]
    known = [(one, usage) for one, usage in told if isinstance(usage, dict)]
    if known:
        return [_amdsmi(f"gpu {one.get('gpu')}", usage) for one, usage in known]
    return [_amdsmi(f"gpu {row['gpu']}", row) for row in rows(text, "gpu")]


def drm(text: str) -> list[Told]:
    """Lines `/sys/class/drm/card0/device vram_total 123`."""
    return [
        Told(name, _of(row, "vram_total", "vram_used"), _of(row, "gtt_total", "gtt_used"))
        for name, row in _lines(_FILE, text)
    ]


def _rocm(name: str, row: dict[str, Any]) -> Told:
    memory, gtt = (
        pool(
            count(row.get(f"{of} Total Memory (B)")), count(row.get(f"{of} Total Used Memory (B)")),
            "rocm-smi", _raw(row),
        )
        for of in ("VRAM", "GTT")
    )  # fmt: skip
    series = next((row[key] for key in ("Card Series", "Card series") if key in row), "")
    return Told(shown(name), memory, gtt, shown(str(series)))


def _amdsmi(name: str, row: dict[str, Any]) -> Told:
    memory, gtt = (
        pool(_mib(row.get(f"total_{of}")), _mib(row.get(f"used_{of}")), "amd-smi", _raw(row))
        for of in ("vram", "gtt")
    )
    return Told(shown(name), memory, gtt)


def _mib(said: object) -> int | None:
    """Bytes of `131072` or of `{"value": 131072, "unit": "MB"}`; an unknown unit is no number."""
    unit = said.get("unit", "MB") if isinstance(said, dict) else "MB"
    number = count(said.get("value") if isinstance(said, dict) else said)
    scale = _SCALE.get(unit.upper()) if isinstance(unit, str) else None
    return (
        number * scale if number is not None and scale and number < 2**32 * 2**20 // scale else None
    )


def _of(row: dict[str, str], total: str, used: str) -> Known[Pool] | Unknown:
    return pool(count(row.get(total)), count(row.get(used)), "the kernel", _raw(row))


def _lines(form: re.Pattern[str], text: str) -> Iterator[tuple[str, dict[str, str]]]:
    found: dict[str, dict[str, str]] = {}
    for line in text.split("\n"):
        if match := form.match(line):
            found.setdefault(match[1], {})[match[2]] = match[3]
    yield from found.items()


def _raw(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in row.items())
