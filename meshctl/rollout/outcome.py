"""How a run ended, or where it stands: what people and programs are told. Pure."""

from __future__ import annotations

from typing import Literal

from meshctl.plan.change import Change
from meshctl.spec.model import Frozen
from meshctl.state.evidence import Evidence

Status = Literal["pending", "started", "done", "failed", "undone", "skipped"]


class StepRecord(Frozen):
    """One step of a run and how far it got; seconds as measured."""

    id: str
    kind: str
    text: str
    status: Status
    seconds: float = 0.0


class Outcome(Frozen):
    """The end of a run. `traffic` is the split in percent as observed at the end, None when it
    could not be read. `restored` says whether what served before serves again; `left` is empty or
    holds the exact commands that a person must type."""

    run: str
    verb: str
    service: str
    target: str
    verdict: Literal["pass", "fail", "unclear"] | None
    exit_code: int
    message: str
    hint: str = ""
    from_release: str | None = None
    to_release: str | None = None
    revision: str | None = None
    url: str | None = None
    tag_url: str | None = None
    traffic: dict[str, int] | None = None
    changes: tuple[Change, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    restored: bool | None = None
    left: tuple[str, ...] = ()
