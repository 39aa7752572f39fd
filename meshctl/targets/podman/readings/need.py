"""What a release needs of its host, and what a gate says of it. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.value import Unknown

Verdict = Literal["pass", "fail", "unclear"]


class CardNeed(Frozen):
    """A kind of card, how many, and the bytes that must be free on each."""

    name: str
    count: int = 1
    vendor: Literal["nvidia", "amd"]
    total_bytes: int
    free_bytes: int = 0


class Need(Frozen):
    """What one release needs of its host."""

    service: str
    unit: str
    container: str = ""
    user: bool = False
    unified_memory: bool = False
    memory_bytes: int = 0
    cards: tuple[CardNeed, ...] = ()
    disk: dict[str, int] = Field(default={}, description="bytes to be written, by folder")
    ports: tuple[int, ...] = Field(default=(), description="of the host")
    image: str = Field(default="", description="sha256:HEX; empty for a native engine")
    files: dict[str, int] = Field(default={}, description="bytes of payload files by path")
    podman: tuple[int, ...] = Field(default=(), description="the least version, such as (5, 0)")


class GateFinding(Frozen):
    """What one gate found, and the next thing to do where it did not pass."""

    name: str
    verdict: Verdict
    evidence: str
    hint: str = ""


def unclear(name: str, reading: Unknown, hint: str) -> GateFinding:
    """The gate whose reading is unknown, with what was said instead."""
    said = f"{reading.reason}: {reading.raw}" if reading.raw else reading.reason
    return GateFinding(name=name, verdict="unclear", evidence=said, hint=hint)
