"""The JSON documents of `state check` and `state migrate`: what is remembered, and where. Pure."""

from __future__ import annotations

from typing import Literal

from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document


class StateLock(Frozen):
    """One lock that is not free; `service` is its name on the target, `site` PROJECT:REGION."""

    site: str
    service: str
    state: Literal["held", "frozen", "expired", "unreadable"]
    who: str
    since: str
    what: str


class StateProblem(Frozen):
    """One thing that is wrong: the object, what, and what to do."""

    place: str
    message: str
    hint: str


class State(Document):
    """What a state holds. `endpoint` and `proved` (when its conditions were tried) are null for a
    folder; `others` counts objects that are neither events nor locks nor builds."""

    kind: Literal["state/v1"] = "state/v1"
    place: str
    endpoint: str | None
    proved: str | None
    services: int
    runs: int
    events: int
    builds: int
    others: int
    bytes: int
    locks: tuple[StateLock, ...]
    problems: tuple[StateProblem, ...]


class Migration(Document):
    """What `state migrate` moved: runs by their new names, and locks by their old keys."""

    kind: Literal["migration/v1"] = "migration/v1"
    place: str
    runs: tuple[str, ...]
    events: int
    locks: tuple[str, ...]
