"""The JSON document of `budget boot`, made from what a log measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Literal

from pydantic import Field

from meshctl.budget.boot_compare import Finding, Row
from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document


class BootRow(Frozen):
    """One number, predicted between two ends and as the engine printed it; bytes are those of one
    device."""

    name: str
    unit: Literal["bytes", "tokens", "times"]
    low: float | None = Field(description="null: not predicted")
    high: float | None
    measured: float | None = Field(description="null: not printed")
    off: float | None = Field(description="beyond the nearer end; 0: as predicted")


class BootFinding(Frozen):
    """Why the boot is no success."""

    id: Literal["shrunk", "processor", "partly", "failed"]
    text: str
    hint: str


class BudgetBoot(Document):
    """What one boot measured against what was predicted."""

    kind: Literal["budget-boot/v1"] = "budget-boot/v1"
    subject: str | None = Field(description="null: a log alone")
    model: str | None
    device: str | None
    source: str = Field(description="the revision, the file, or stdin")
    engine: str
    engine_version: str | None
    ready: bool
    rows: tuple[BootRow, ...]
    findings: tuple[BootFinding, ...]
    recorded: bool = Field(description="remembered for the next plan")
    note: str


def boot_rows(rows: Iterable[Row]) -> tuple[BootRow, ...]:
    """The rows of the comparison, each with how far it is off."""
    return tuple(
        BootRow(name=row.name, unit=row.unit, low=row.low, high=row.high, measured=row.measured,
                off=row.off)
        for row in rows
    )  # fmt: skip


def boot_findings(findings: Iterable[Finding]) -> tuple[BootFinding, ...]:
    """The findings as they are printed."""
    return tuple(BootFinding(**asdict(one)) for one in findings)
