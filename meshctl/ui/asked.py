"""The JSON documents of `quota`, `logs` and `diagnose`. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.engines.engine import Phase, Severity
from meshctl.plan.period import Period
from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document


class PoolEntry(Frozen):
    """One quota of a region, in GPUs, milli-vCPU or bytes; `limit` null is unknown or unlimited.

    `in_use` is a least number where nobody knows what runs, and `free` then a most one.
    """

    id: str
    resource: Literal["gpu", "cpu", "memory"]
    accelerator: str | None
    zonal_redundancy: bool | None
    limit: int | None
    unlimited: bool
    in_use: int
    exact: bool = Field(description="what runs was measured; else in_use counts minimums alone")
    free: int | None
    why: str = Field(description="why the limit is unknown")
    short: bool = Field(description="what the fleet wants of it, or one more, finds no place")
    request: str = Field(description="command that asks for enough")


class HolderEntry(Frozen):
    """One revision that draws on the pools; null is unknown."""

    service: str
    revision: str
    key: str | None = Field(description="in the fleet file; null: not declared there")
    accelerator: str | None
    zonal_redundancy: bool | None
    cpu_milli: int
    memory_bytes: int
    min: int
    max: int
    running: int | None
    last_traffic: Period | None = Field(
        description="between which moments it was last asked; null: not in the window, or unknown"
    )
    stale: str = Field(description="why it counts as stale; empty when it does not")
    delete: str | None = Field(description="command that deletes the stale service")


class QuotaEntry(Frozen):
    """The quota of one target."""

    target: str
    project: str
    region: str
    pools: tuple[PoolEntry, ...]
    holders: tuple[HolderEntry, ...]
    window_s: float = Field(description="how far back last_traffic looks")
    traffic_known: bool = Field(description="null in last_traffic: none in the window")
    rule: str = Field(description="when a holder counts as stale")
    unknown: tuple[str, ...] = Field(description="what could not be read, and why")


class Quota(Document):
    """How much of what Cloud Run gives out is there, is free, and who holds the rest."""

    kind: Literal["quota/v1"] = "quota/v1"
    targets: tuple[QuotaEntry, ...]


class LogLine(Frozen):
    """One entry of a log."""

    at: str | None
    severity: str
    revision: str | None
    text: str


class Logs(Document):
    """What a service wrote, the oldest first; `cause` is the first line that names a reason."""

    kind: Literal["logs/v1"] = "logs/v1"
    service: str
    target: str
    lines: tuple[LogLine, ...]
    cause: str | None
    remedy: str | None = Field(description="what to do about the cause, where it is a known one")
    note: str = Field(description="why there may be no lines, or that there are more")
    several: bool = Field(default=False, exclude=True, description="revisions are shown")


class FindingEntry(Frozen):
    """One known failure. Lines are shown without secrets of known forms, and cut."""

    id: str = Field(description="docs/diagnose.md lists them all")
    cause: str
    phase: Phase | None = Field(description="null: the log does not say how far it had come")
    engine: str | None = Field(description="null: others say so, too, and none is seen in the log")
    severity: Severity = Field(description="a warning did not end anything")
    line: str
    line_number: int = Field(description="from 1; of a service's log it counts entries")
    evidence: tuple[str, ...]
    remedy: str = Field(description="the next command or setting")


class ComplaintEntry(Frozen):
    """The first line that complains of what is not known."""

    line: str
    line_number: int


class Findings(Document):
    """What a log shows to have gone wrong, the root cause first; empty where nothing is known."""

    kind: Literal["findings/v1"] = "findings/v1"
    source: str = Field(description="the service on its target, or the file; `-`: standard input")
    lines_read: int
    findings: tuple[FindingEntry, ...]
    complaint: ComplaintEntry | None = Field(description="only where no error is known")
    last_lines: tuple[str, ...] = Field(description="distinct ones, only where no error is known")
    note: str = Field(description="why there may be no lines, or that there are more")
