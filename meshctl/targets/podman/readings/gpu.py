"""The cards of a host: several tools heard, and a number only where they do not contradict. Pure.

The kernel's files go first for AMD, for they count in bytes; rocm-smi and amd-smi number cards by
other orders than the kernel, so they are matched by what memory the cards have, not by index.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.value import Known, Unknown, unknown

MOST_CARVED = 4 * 2**30
"""Bytes of own memory below which a card with a larger GTT is taken for a part of the processor:
its BIOS carve-out (512 MiB on a Strix Halo, facts/budget 3.1), not what it can use. Discrete cards
have a GTT too, of half the main memory, which may well be more than their own."""
_NEAR = 0.02
"""Share by which two tools may differ in a total: rounding to MiB, and what firmware keeps."""


class Pool(Frozen):
    """A memory in bytes, and how much of it is taken."""

    total_bytes: int
    used_bytes: int

    @property
    def free_bytes(self) -> int:
        return self.total_bytes - self.used_bytes


class CardSeen(Frozen):
    """One card. `gtt`: main memory that it may use; of a discrete card never its own memory."""

    vendor: str
    name: str
    id: str = Field(description="uuid for NVIDIA; the kernel's or the tool's name for AMD")
    memory: Known[Pool] | Unknown
    gtt: Known[Pool] | Unknown = Unknown(reason="the card has none")
    driver: str = ""
    slices: tuple[str, ...] = Field(default=(), description="MIG devices; empty where it is whole")

    def pool(self, unified: bool = False) -> Known[Pool] | Unknown:
        """The memory that a model is loaded into. `unified`: the fleet file says it is shared."""
        if isinstance(self.gtt, Unknown) or isinstance(self.memory, Unknown):
            return self.memory
        larger = self.gtt.value.total_bytes > self.memory.value.total_bytes
        carved = self.memory.value.total_bytes < MOST_CARVED
        return self.gtt if larger and (unified or carved) else self.memory


class Told(NamedTuple):
    """What one tool said of one card of AMD."""

    id: str
    memory: Known[Pool] | Unknown
    gtt: Known[Pool] | Unknown
    name: str = ""


def pool(total: int | None, used: int | None, source: str, raw: str) -> Known[Pool] | Unknown:
    """A pool, unless it has nothing, or uses more than it has: then columns were misread."""
    if total is None or used is None:
        return unknown(f"{source} gives no number", raw)
    if total <= 0 or used > total:
        return unknown(f"{source} contradicts itself", raw)
    return Known[Pool](value=Pool(total_bytes=total, used_bytes=used), source=source)


def agreed(*tools: list[Told]) -> tuple[CardSeen, ...]:
    """The cards as the first tool that knows any tells them, where the others do not object."""
    heard = [tool for tool in tools if tool]
    if not heard:
        return ()
    first, *others = heard
    return tuple(_card(one, first, others) for one in first)


def _card(one: Told, first: list[Told], others: list[list[Told]]) -> CardSeen:
    memory, name = one.memory, one.name
    for other in others:
        alike = [that for that in other if _near(one.memory, that.memory)]
        name = name or (alike[0].name if alike else "")
        known = all(isinstance(that.memory, Known) for that in other)
        if isinstance(memory, Known) and known and len(other) == len(first) and not alike:
            said = "; ".join(f"{that.id} {_shown(that.memory)}" for that in (one, *other))
            memory = unknown(f"{memory.source} and {_source(other)} contradict each other", said)
    return CardSeen(vendor="amd", name=name or one.id, id=one.id, memory=memory, gtt=one.gtt)


def _near(one: Known[Pool] | Unknown, other: Known[Pool] | Unknown) -> bool:
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return False
    mine, theirs = one.value.total_bytes, other.value.total_bytes
    return abs(mine - theirs) <= _NEAR * mine


def _source(tool: list[Told]) -> str:
    return next((one.memory.source for one in tool if isinstance(one.memory, Known)), "another")


def _shown(memory: Known[Pool] | Unknown) -> str:
    return str(memory.value.total_bytes) if isinstance(memory, Known) else memory.reason
