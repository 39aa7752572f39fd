"""Sizes, durations and times: read strictly, printed the way people say them. Pure."""

from __future__ import annotations

import re

BYTES = {
    "": 1, "B": 1,
    "K": 10**3, "KB": 10**3, "M": 10**6, "MB": 10**6,
    "G": 10**9, "GB": 10**9, "T": 10**12, "TB": 10**12,
    "Ki": 2**10, "KiB": 2**10, "Mi": 2**20, "MiB": 2**20,
    "Gi": 2**30, "GiB": 2**30, "Ti": 2**40, "TiB": 2**40,
}  # fmt: skip
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
MOST_BYTES = 2**63 - 1
"""What a file, a disk or a card can hold at most: a signed number of 64 bits, as systems count."""
LONGEST_S = 100 * 365 * 86400.0
"""A hundred years: beyond it clocks and timers overflow, and nobody means it."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(\.\d+)?Z")


def parse_bytes(text: str) -> int:
    """`32Gi` -> 34359738368. A bare number is bytes. Raises ValueError with the units known."""
    match = _NUMBER_UNIT.fullmatch(text.strip())
    if not match or match[2] not in BYTES:
        raise ValueError(
            f"{text!r} is not a size; write bytes, or a number and a unit such as 512Mi or 32Gi"
        )
    count = float(match[1]) * BYTES[match[2]]
    if count > MOST_BYTES:
        raise ValueError(f"{_short(text)} is more than any disk holds")
    return round(count)


def parse_seconds(text: str) -> float:
    """`1h30m` -> 5400.0. A unit is required. Raises ValueError with the units known."""
    parts = _DURATION_PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ValueError(f"{text!r} is not a duration; write a number and a unit such as 30s or 2m")
    seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if seconds > LONGEST_S:
        raise ValueError(f"{_short(text)} is longer than a hundred years")
    return seconds


def _short(text: str) -> str:
    """What was written, as far as a message has room for it."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def show_bytes(count: int) -> str:
    """34359738368 -> `32 GiB`, with one decimal where it is not whole."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"


def size_above(count: int) -> str:
    """98362432 -> `94Mi`: a size of at least so many bytes that can be typed back."""
    return f"{-(-count // 2**20)}Mi"


def show_seconds(seconds: float) -> str:
    """0.42 -> `0.4s`, 75 -> `1m15s`, 7200 -> `2h`."""
    tenths = round(seconds, 1)
    if round(seconds) < 60:
        return f"{tenths:.0f}s" if tenths >= 10 or tenths == int(tenths) else f"{tenths:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    shown = [(hours, "h"), (minutes, "m"), (rest, "s")]
    return "".join(f"{count}{unit}" for count, unit in shown if count)


def show_minute(at: str) -> str:
    """`2026-11-30T20:45:12.345678Z` -> `2026-11-30 20:45 UTC`; what is no such time stays as it
    is."""
    found = _MOMENT.fullmatch(at)
    return f"{found[1]} {found[2]} UTC" if found else at


def show_second(at: str) -> str:
    """The same with the second: `2026-11-30 20:45:12 UTC`, for what lasts less than a minute."""
    found = _MOMENT.fullmatch(at)
    return f"{found[1]} {found[2]}{found[3]} UTC" if found else at


def cpu_text(cpu: float) -> str:
    """1.0 -> `1`, 0.5 -> `500m`: the one spelling in which processors are written and compared."""
    return str(int(cpu)) if cpu == int(cpu) else f"{round(cpu * 1000)}m"
