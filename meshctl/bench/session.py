"""One bench as it was recorded: every question, every piece of its answer, and what stood around
it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from meshctl.bench.counters import Counters
from meshctl.bench.reply import Reply, read_reply
from meshctl.bench.workload import Ask, Workload
from meshctl.outside.streams import Capture


@dataclass(frozen=True)
class Shot:
    """One question and its answer, and what both clocks and our own processor said meanwhile."""

    ask: Ask
    capture: Capture
    took_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @cached_property
    def reply(self) -> Reply:
        """The answer as it reads."""
        return read_reply(self.capture)


@dataclass(frozen=True)
class Session:
    """`before` and `after` are the engine's counters around the shots that are no warm-up; None
    where it shows none. `steady`: the warm-up ended with two answers that took as long."""

    workload: Workload
    shots: tuple[Shot, ...]
    steady: bool = True
    before: Counters | None = None
    after: Counters | None = None
    provenance: Mapping[str, str | float | None] = field(default_factory=dict)

    @property
    def measured(self) -> tuple[Shot, ...]:
        """All but the warm-up."""
        return tuple(shot for shot in self.shots if shot.ask.kind != "warm")
