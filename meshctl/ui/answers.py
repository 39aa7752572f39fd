"""The JSON documents of the commands that only ask: status, history, explain, lock, demo. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.ui.costs import CostEntry, PriceSource
from meshctl.ui.documents import ChangeEntry, Document, Overall, ServiceState


class Serving(Frozen):
    """One revision that gets requests now."""

    release: str | None
    revision: str
    percent: int


class ShareEntry(Frozen):
    """One row of a split, its revision by name; `latest` says that it follows the newest ready
    one, and the revision is null while there is none."""

    revision: str | None
    latest: bool
    percent: int
    tag: str | None


class TrafficEntry(Frozen):
    """What was asked for, what is in force, and what a revision made by anybody else would get."""

    desired: tuple[ShareEntry, ...]
    effective: tuple[ShareEntry, ...]
    new_revision_percent: int
    modified_by: str | None = Field(description="who last changed the service; null: unknown")


class TagEntry(Frozen):
    """One tag and where it points."""

    tag: str
    revision: str
    url: str | None


class Newest(Frozen):
    """The revision that was made last."""

    revision: str
    release: str | None
    ready: bool


class ScalingEntry(Frozen):
    """Instances at the level of the service; what is not set there is null."""

    min: int
    max: int | None
    manual: int | None = Field(description="a count set by hand, in place of the minimum")


class StatusEntry(Frozen):
    """One service on one target as it is; null is unknown. `drift` is from declared to real."""

    name: str
    target: str
    role: str | None = Field(description="null: no fleet file that can be used says it")
    state: ServiceState
    since: str | None
    who: str | None
    url: str | None
    pinned: bool | None
    release: str | None = Field(description="null, too: several have the same share")
    serving: tuple[Serving, ...]
    tags: tuple[TagEntry, ...]
    newest: Newest | None
    drift: tuple[ChangeEntry, ...] | None = Field(
        description="keys that differ, env values as hashes; null: likewise"
    )
    notes: tuple[str, ...] = ()
    traffic: TrafficEntry | None = None
    scaling: ScalingEntry | None = None
    cost: CostEntry | None = None
    run: str | None = Field(default=None, description="the run that has not ended")


class Status(Document):
    """What runs."""

    kind: Literal["status/v1"] = "status/v1"
    services: tuple[StatusEntry, ...]
    prices: tuple[PriceSource, ...] = ()


class HistoryEntry(Frozen):
    """One run about a release, or a revision without any, whose run and verb are null;
    `rollback_to` marks the one a rollback would go to."""

    release: str
    revision: str | None
    run: str | None
    verb: str | None
    at: str | None
    who: str | None
    commit: str | None
    dirty: bool | None
    verdict: Overall | None = Field(description="on the whole run; null: unproven, or `ended`")
    serving: bool
    rollback_to: bool
    ended: Literal["interrupted", "aborted", "taken over", "unfinished"] | None = Field(
        default=None, description="what became of a run that came to no verdict"
    )


class History(Document):
    """The releases of a service, the newest first. `chain` is the release that serves, then where
    one rollback after the other would lead."""

    kind: Literal["history/v1"] = "history/v1"
    releases: tuple[HistoryEntry, ...]
    chain: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class OlderRevision(Frozen):
    """A revision beside the one that serves, and what a run or a label knows of it."""

    revision: str
    release: str
    created: str | None
    known: str = Field(description="`passed`, `passed by its label`, `unproven`, and the like")
    tags: tuple[str, ...]


class Adopt(Document):
    """A live service that was taken over. `text` is what to put into the fleet file, empty where
    it stands there already; `known` says that the journal had it before."""

    kind: Literal["adopt/v1"] = "adopt/v1"
    service: str
    target: str
    name: str
    release: str
    revision: str
    verdict: Overall | None = Field(description="null: unproven, nobody asked it")
    exit_code: int
    run: str
    known: bool
    file: str | None = Field(description="the file that was written")
    unchanged: str | None = Field(None, description="the file to write, which has it already")
    text: str
    peers: tuple[str, ...]
    older: tuple[OlderRevision, ...]
    notes: tuple[str, ...]
    message: str
    next: str = Field(description="the next command")


class ExplainEvent(Frozen):
    """One line of a journal in words."""

    at: str
    event: str
    step: str | None
    text: str


class Explain(Document):
    """What happened in a run, and what can be typed next."""

    kind: Literal["explain/v1"] = "explain/v1"
    run: str
    service: str
    target: str
    verb: str
    who: str | None
    verdict: Overall | None
    exit_code: int | None = Field(description="null: it has not ended, or was taken over")
    from_release: str | None
    to_release: str | None
    events: tuple[ExplainEvent, ...]
    next: tuple[str, ...]
    ended: str | None = Field(
        default=None, description="`interrupted`, `aborted`, or `taken over` and by what"
    )


class LockEntry(Frozen):
    """The lock of one service; `frozen` is held by hand, `expired` binds nobody any more, and
    `unreadable` binds until it is broken."""

    service: str
    target: str
    state: Literal["free", "held", "frozen", "expired", "unreadable"]
    who: str | None = None
    since: str | None = None
    until: str | None = None
    what: str | None = None
    run: str | None = None


class Locks(Document):
    """Who holds what."""

    kind: Literal["lock/v1"] = "lock/v1"
    locks: tuple[LockEntry, ...]


class DemoScene(Frozen):
    """One command of the demo, as a user types it, and how it ended."""

    name: str
    command: str
    exit_code: int
    expected_exit_code: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.exit_code == self.expected_exit_code


class DemoClient(Frozen):
    """What a client saw that asked all the while; `failed` is anything but a token."""

    requests: int
    failed: int
    longest_gap_s: float = Field(description="between two good answers")


class Demo(Document):
    """What the demo showed."""

    kind: Literal["demo/v1"] = "demo/v1"
    ok: bool
    scenes: tuple[DemoScene, ...]
    client: DemoClient

    @classmethod
    def of(cls, scenes: tuple[DemoScene, ...], client: DemoClient) -> Demo:
        """`ok` when every scene ended as it should, and a client asked and was never let down."""
        unharmed = client.requests > 0 and client.failed == 0
        well = all(scene.as_expected for scene in scenes)
        return cls(ok=well and unharmed, scenes=scenes, client=client)
