"""The JSON documents about peers and their environment: peer/v1 and env-diff/v1. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document, Overall, Rollout


class PeerRow(Frozen):
    """One peer of one coordinator. `announced` is what the coordinator that serves says, null when
    unknown; `recorded` is what the journal says. `drift` is what is not as it should be."""

    name: str
    coordinator: str
    target: str | None
    declared: bool
    announced: bool | None
    recorded: bool
    verdict: Overall | None
    models: tuple[str, ...]
    priority: int | None
    weight: int | None
    url: str | None
    min_instances: int | None
    drift: tuple[str, ...]


class Peers(Document):
    """The peers as they are, after the runs that changed them where there were any."""

    kind: Literal["peer/v1"] = "peer/v1"
    peers: tuple[PeerRow, ...]
    rollouts: tuple[Rollout, ...] = ()
    exit_code: int = 0
    notes: tuple[str, ...] = ()
    delete: str = Field(
        default="", description="what removes the service of a peer that was taken out; else empty"
    )


class EnvKey(Frozen):
    """One variable on both sides: a hash, the value, or a reference to a secret; null where it is
    absent. `expected` says that the two should differ, `why` says why."""

    name: str
    state: Literal["same", "differs", "only-a", "only-b"]
    a: str | None
    b: str | None
    expected: bool
    why: str = ""


class EnvDiff(Document):
    """The environments of two services key by key."""

    kind: Literal["env-diff/v1"] = "env-diff/v1"
    a: str = Field(description="what is on the left, with the release it was read from")
    b: str
    keys: tuple[EnvKey, ...]
    unexpected: int = Field(description="how many differ that should not")
