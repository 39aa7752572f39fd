"""The JSON documents that commands print, one type for each kind. Pure.

Sizes are in bytes, durations in seconds, times RFC 3339 in UTC. A field with `exclude=True` is
shown to people and not part of the kind.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.ui.costs import CostChangeEntry, PriceSource

Judgement = Literal["pass", "fail", "unclear", "skipped"]
Overall = Literal["pass", "fail", "unclear"]
ServiceState = Literal["READY", "DEGRADED", "DEPLOYING", "STOPPED", "FAILED", "UNKNOWN"]
StepStatus = Literal["pending", "started", "done", "failed", "undone", "skipped"]


class Document(Frozen):
    """What one command prints; `kind` names the type and its version."""

    kind: str

    def data(self) -> dict[str, Any]:
        """The document as plain values, `kind` first."""
        return self.model_dump(mode="json", by_alias=True)


class Error(Document):
    """Why a command did not do what was asked."""

    kind: Literal["error/v1"] = "error/v1"
    class_: str = Field(alias="class")
    message: str
    hint: str
    place: str
    exit_code: int


class Version(Document):
    """Which meshctl this is."""

    kind: Literal["version/v1"] = "version/v1"
    version: str


class ErrorEntry(Frozen):
    """One mistake in a fleet file."""

    place: str
    path: str
    message: str
    hint: str


class Validate(Document):
    """Every mistake in a fleet file."""

    kind: Literal["validate/v1"] = "validate/v1"
    errors: tuple[ErrorEntry, ...]
    warnings: tuple[ErrorEntry, ...] = Field(default=(), description="unwise, and not refused")


class Config(Document):
    """A fleet with everything filled in."""

    kind: Literal["config/v1"] = "config/v1"
    fleet: dict[str, Any]
    text: str = Field(default="", exclude=True, description="the same as a fleet file")


class Schema(Document):
    """The JSON schema of a fleet file."""

    kind: Literal["schema/v1"] = "schema/v1"
    schema_: dict[str, Any] = Field(alias="schema")


class Example(Document):
    """The text of a fleet file that documents every key."""

    kind: Literal["example/v1"] = "example/v1"
    text: str


class Emulator(Document):
    """The embedded cloud; url and pid are null when it is stopped."""

    kind: Literal["emulator/v1"] = "emulator/v1"
    url: str | None
    pid: int | None
    state: Literal["running", "stopped"]


class FaultEntry(Frozen):
    """One fault ordered of the embedded cloud: which requests, how often, and how often so far."""

    fault: str
    method: str | None = Field(description="null: every method")
    path: str | None = Field(description="a regular expression; null: every path")
    code: str | None
    seconds: float | None
    times: int | None = Field(description="null: until it is cleared")
    after: int
    every: int
    probability: float
    seed: int | None
    seen: int = Field(description="requests that matched")
    hits: int = Field(description="requests that were struck")


class Faults(Document):
    """The faults in force in the embedded cloud, and the quota limits that were changed."""

    kind: Literal["faults/v1"] = "faults/v1"
    faults: tuple[FaultEntry, ...]
    quota_limits: dict[str, dict[str, int]]


class ChangeEntry(Frozen):
    """One key that differs; null where it is absent. Env values are hashes unless asked for."""

    path: str
    from_: str | None = Field(alias="from")
    to: str | None


class PlanStep(Frozen):
    """One step of a plan and its undo."""

    id: str
    kind: str
    text: str
    undo: str


class RefusedEntry(Frozen):
    """Why a plan is refused, and the way out."""

    message: str
    hint: str
    place: str


class PlanEntry(Frozen):
    """What would be done to one service on one target."""

    name: str
    changes: tuple[ChangeEntry, ...]
    steps: tuple[PlanStep, ...]
    strategy: str
    outage_s: float | None
    refused: tuple[RefusedEntry, ...]
    target: str
    verb: str
    from_release: str | None
    to_release: str | None
    notes: tuple[str, ...]
    cost: CostChangeEntry | None = None


class Plan(Document):
    """What would be done."""

    kind: Literal["plan/v1"] = "plan/v1"
    services: tuple[PlanEntry, ...]
    prices: tuple[PriceSource, ...] = ()


class EvidenceEntry(Frozen):
    """What one check showed."""

    name: str
    verdict: Judgement
    flaky: bool
    seconds: float
    evidence: dict[str, Any]
    why: str


class RolloutStep(Frozen):
    """One step of a run and how far it got."""

    id: str
    kind: str
    status: StepStatus
    seconds: float
    text: str


class Rollout(Document):
    """How a run ended."""

    kind: Literal["rollout/v1"] = "rollout/v1"
    run: str
    service: str
    verdict: Overall | None
    exit_code: int
    from_release: str | None
    to_release: str | None
    revision: str | None
    url: str | None
    tag_url: str | None
    changes: tuple[ChangeEntry, ...]
    steps: tuple[RolloutStep, ...]
    evidence: tuple[EvidenceEntry, ...]
    restored: bool | None
    target: str
    verb: str
    message: str
    hint: str
    left: tuple[str, ...]
    traffic: dict[str, int] | None = Field(
        default=None, description="percent by revision at the end; null: not observed"
    )


class Rollouts(Document):
    """How several runs ended; the exit code is the worst of theirs."""

    kind: Literal["rollouts/v1"] = "rollouts/v1"
    exit_code: int
    rollouts: tuple[Rollout, ...]


class Verify(Document):
    """What a battery showed."""

    kind: Literal["verify/v1"] = "verify/v1"
    verdict: Overall
    checks: tuple[EvidenceEntry, ...]


class Build(Document):
    """An image that was built, or found built already; no digest while it is being built."""

    kind: Literal["build/v1"] = "build/v1"
    image: str
    tag: str
    digest: str | None
    build: str
    bytes: int
    reused: bool
