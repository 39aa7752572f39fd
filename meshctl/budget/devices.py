"""What an engine can use of each known card, and where the figure comes from. Pure.

Usable is what CUDA or HIP report to an engine, never the size on the box: 24 GB of an L4 are
22.04 GiB. Figures of facts/budget section 4. `measured`: read off engines' logs. `assumed`: nobody
showed us a log, or the figure moves; where a range was told its lower end stands here. What a fleet
measured on its own host (`gpus: usable:`) is worth more than any row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshctl.budget.ledger import Source
from meshctl.errors import UsageError
from meshctl.spec.near import near

GIB = 2**30
MOST_CARDS = 64


@dataclass(frozen=True)
class Device:
    """One card: bytes an engine can use of it. `unified`: host and card share one memory."""

    name: str
    usable_bytes: int
    source: Source
    text: str
    aliases: tuple[str, ...] = ()
    unified: bool = False


def _log(name: str, usable: float, text: str, *aliases: str, unified: bool = False) -> Device:
    size = round(usable * GIB) if isinstance(usable, float) else usable
    return Device(name, size, "measured", text, aliases, unified)


def _rule(name: str, usable: float, text: str, *aliases: str, unified: bool = False) -> Device:
    return Device(name, round(usable * GIB), "assumed", text, aliases, unified)


DEVICES = (
    _log("L4", 22.04, "engines' logs: 22.04 GiB", "nvidia-l4"),
    _log("RTX-PRO-6000", 101_973_950_464, "CUDA's totalGlobalMem", "nvidia-rtx-pro-6000"),
    _rule("T4", 14.56, "14.56 to 14.74 GiB by hearsay", "nvidia-tesla-t4"),
    _rule("A10G", 22.1, "22.1 GiB by hearsay"),
    _log("A40", 44.35, "engines' logs: 44.35 to 44.4 GiB, ECC on"),
    _log("L40S", 44.35, "engines' logs: 44.35 to 44.4 GiB, ECC on", "nvidia-l40s"),
    _log("RTX-3090", 23.58, "engines' logs: 23.58 GiB"),
    _rule("RTX-4090", 23.5, "23.5 to 23.6 GiB by hearsay"),
    _log("RTX-5060-Ti-16G", 15.5, "engines' logs: about 15.5 GiB"),
    _log("RTX-5090", 31.36, "engines' logs: 31.36 GiB, and 31.86 seen too"),
    _rule("A100-40G", 39.4, "39.4 to 39.6 GiB by hearsay", "nvidia-tesla-a100"),
    _rule("A100-80G", 79.14, "79.14 to 79.25 GiB by hearsay", "A100", "nvidia-a100-80gb"),
    _log("H100", 79.1, "engines' logs: 79.1 to 79.33 GiB", "nvidia-h100-80gb"),
    _log("GH200", 94.5, "engines' logs: 94.5 GiB"),
    _log("H200", 139.81, "engines' logs: 139.81 GiB", "nvidia-h200-141gb"),
    _log("B200", 178.35, "engines' logs: 178.35 GiB", "nvidia-b200"),
    _log("GB300", 276.62, "engines' logs: 276.62 GiB"),
    _log("GB10", 121.7, "engines' logs: 121.7 GiB", "DGX-Spark", unified=True),
    _log("MI250", 68_702_699_520, "the driver's bytes, one of its two dies"),
    _log("MI300X", 205_822_885_888, "the driver's bytes, eight sources"),
    _log("MI355X", 308_902_100_992, "the driver's bytes"),
    _log("RX-7900-XTX", 25_757_220_864, "the driver's bytes"),
    _log("RDNA-16G", 17_163_091_968, "the driver's bytes"),
    _rule("W7900", 47.98, "about 47.98 GiB, unverified"),
    _rule("R9700", 31.86, "about 31.86 GiB, unverified"),
    _rule("Strix-Halo", 96.0, "96 to 120 GiB, as its carve-out and GTT limit are set",
          "Strix-Halo-128G", "Radeon-8060S", unified=True),
)  # fmt: skip


def device_named(name: str) -> Device | None:
    """The row of a card, however it is spelled: `rtx pro 6000` is RTX-PRO-6000."""
    wanted = _plain(name)
    for device in DEVICES:
        if wanted in map(_plain, (device.name, *device.aliases)):
            return device
    return None


def parse_gpu(text: str) -> tuple[Device, int]:
    """`L4x2` -> two of the card L4; the number may be left out. Raises UsageError."""
    device = device_named(text)  # a name may end like a number of cards: MI300X, A100
    if device is not None:
        return device, 1
    name, sign, count = text.rpartition("x")
    device = device_named(name)
    if not sign or device is None or not count.isascii() or not count.isdigit():
        names = [device.name for device in DEVICES]
        hint = f"{near(name or text, names)}; NAME or NAMExCOUNT, such as L4 or R9700x2"
        raise UsageError(f"--gpu: no card {text!r} is known", hint=hint)
    if not 1 <= int(count[:6]) <= MOST_CARDS:
        raise UsageError(
            f"--gpu: {count} cards are out of range", hint=f"between 1 and {MOST_CARDS}"
        )
    return device, int(count)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
