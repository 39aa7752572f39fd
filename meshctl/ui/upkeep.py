"""The JSON documents of `cost` and `gc`: what the fleet costs, and what can go. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.plan.period import Period
from meshctl.spec.model import Frozen
from meshctl.ui.costs import Amount, CostEntry, PriceSource
from meshctl.ui.documents import Document


class ServiceCost(Frozen):
    """One service on one target; no cost where it does not exist, is unknown, or nobody sends a
    bill, and `notes` say which."""

    name: str
    target: str
    cost: CostEntry | None
    notes: tuple[str, ...]


class Cost(Document):
    """What the fleet costs now; the sums include what keeps candidates warm, and are null as soon
    as one part is unknown."""

    kind: Literal["cost/v1"] = "cost/v1"
    services: tuple[ServiceCost, ...]
    idle: Amount
    full: Amount
    prices: tuple[PriceSource, ...]


class StaleTag(Frozen):
    """One tag; `usd_per_hour` is what its revision costs as long as it is there."""

    service: str
    target: str
    tag: str
    revision: str
    release: str | None
    verdict: Literal["stale", "kept"]
    status: Literal["found", "removed", "failed"]
    why: str
    ours: bool = Field(description="made by meshctl, as far as its journal and the name tell")
    warm_instances: int
    usd_per_hour: float | None
    command: str = Field(description="what removes exactly this one; empty for what is kept")


class StaleService(Frozen):
    """One live service with a GPU that no fleet file declares."""

    name: str
    target: str
    verdict: Literal["stale", "unknown", "kept"]
    status: Literal["found", "removed", "failed"]
    why: str
    image: str
    gpu: str
    created: str | None
    last_traffic: Period | None = Field(
        description="between which moments; null: unknown, or none in the window; see `why`"
    )
    idle: Amount
    command: str = Field(description="what removes exactly this one; empty for what is kept")


class LookedAt(Frozen):
    """How much was looked at: services that exist, and of those of the fleet file their revisions
    and tags; null where that was not the question, with --services."""

    services: int
    not_deployed: int | None = Field(default=None, description="in the fleet file alone")
    revisions: int | None = None
    tags: int | None = None


class Gc(Document):
    """What can go, and what went."""

    kind: Literal["gc/v1"] = "gc/v1"
    exit_code: int
    looked_at: LookedAt
    tags: tuple[StaleTag, ...]
    services: tuple[StaleService, ...]
    runs: tuple[str, ...] = Field(description="the runs that removed something")
    notes: tuple[str, ...]
    prices: tuple[PriceSource, ...]
