"""The steps of a plan and the acts they stand for, as data that a journal can hold. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from meshctl.plan.change import Change
from meshctl.plan.cost import CostChange
from meshctl.plan.observed import ServiceScaling, Split
from meshctl.plan.release import Release
from meshctl.spec.model import Frozen


class StageRelease(Frozen):
    """Prove that the image and the payloads are where the target can take them.

    `files` are size and sha256 by PAYLOAD/FILE, `objects` the gs:// behind those that are mounted,
    or their paths on a host. `unit` is what is to stand there; `again` that it did before, so that
    only what it names is looked for, not whether there is room.
    """

    act: Literal["stage-release"] = "stage-release"
    image: str
    build: str | None
    files: dict[str, tuple[int, str]]
    objects: dict[str, str] = Field(default={})
    unit: str = ""
    again: bool = False


class CreateService(Frozen):
    """Create a service that only we may call; its only revision gets all traffic."""

    act: Literal["create-service"] = "create-service"
    release: Release
    revision: str
    scaling: ServiceScaling


class PlaceRevision(Frozen):
    """Place a release beside the one that serves: tagged, at 0 %, `found` untouched.

    `tagged` is the revision that the tag is taken from, None when the tag is new.
    """

    act: Literal["place-revision"] = "place-revision"
    release: Release
    revision: str
    tag: str
    found: Split
    tagged: str | None = None


class StopRevision(Frozen):
    """Stop what serves, for the card holds only one, and wait until its memory is really free; what
    it is stays on the host. `by` is who comes in its place."""

    act: Literal["stop-revision"] = "stop-revision"
    release: Release
    revision: str
    by: str


class StartRevision(Frozen):
    """Start a release in the place of `instead_of`, which is stopped; None: nothing was there."""

    act: Literal["start-revision"] = "start-revision"
    release: Release
    revision: str
    instead_of: str | None = None


class SetScaling(Frozen):
    """Change instances at the level of the service; makes no revision. On the way `back` a minimum
    that is neither of the two is a stranger's, and left alone."""

    act: Literal["set-scaling"] = "set-scaling"
    to: ServiceScaling
    was: ServiceScaling
    back: bool = False


class ModelAsked(Frozen):
    """One model that a check asks for, as clients would."""

    id: str
    aliases: tuple[str, ...] = ()
    default: bool = False
    capabilities: tuple[str, ...] = ()


class PeerAsked(Frozen):
    """One peer that must answer through its coordinator, for each of its models and as `release`;
    None says that nobody knows which. `deadline_s` leaves time to wake it, and `way_in` is what to
    do when it does not let the coordinator in."""

    id: str
    release: str | None
    models: tuple[ModelAsked, ...]
    deadline_s: float
    way_in: str = ""


class Asks(Frozen):
    """What a check asks, and how patiently; carried by the step, so that a journal suffices.

    `unreadable` is a release that says nothing legible about its models: it cannot be asked.
    With `peers` it is they who are asked, through the coordinator, and nothing else.
    """

    battery: tuple[str, ...] = ("contract",)
    confirm: int = 5
    token_deadline_s: float = 60.0
    models: tuple[ModelAsked, ...] = ()
    only: tuple[str, ...] = ()
    unreadable: bool = False
    peers: tuple[PeerAsked, ...] = ()


class CheckRelease(Frozen):
    """Ask the battery: on the tag URL before traffic, on the public URL after."""

    act: Literal["check-release"] = "check-release"
    where: Literal["tag", "service", "public"]
    revision: str
    tag: str | None
    release: str
    identity: bool
    asks: Asks
    bake_s: float = 0.0


class ShiftTraffic(Frozen):
    """Move the percents from `was` to `to`, tags untouched; undone, they go back to `found`.

    `or_was` is for an undo: the split before the undone step, which may never have come about.
    """

    act: Literal["shift-traffic"] = "shift-traffic"
    to: Split
    was: Split
    found: Split
    or_was: Split = ()


class ShiftAccess(Frozen):
    """Let everyone in as invoker, or out. `found` is how it was before; None in the journal of an
    earlier meshctl, which took the opposite for granted."""

    act: Literal["shift-access"] = "shift-access"
    public: bool
    found: bool | None = None


class RetireTag(Frozen):
    """Take a tag away from a revision, which stays; undoing, the tag goes `back_to` another."""

    act: Literal["retire-tag"] = "retire-tag"
    tag: str
    revision: str
    back_to: str | None = None


class Remember(Frozen):
    """Write down on the service which releases passed, for when no journal can be read. It is no
    step of a plan: it follows a run whose verdict is in the journal already."""

    act: Literal["remember"] = "remember"
    labels: dict[str, str]


class RetireService(Frozen):
    """Remove a service that this run created and that never proved itself."""

    act: Literal["retire-service"] = "retire-service"
    revision: str


class RemoveService(Frozen):
    """Remove a service that no fleet declares, as long as it is exactly as it was seen."""

    act: Literal["remove-service"] = "remove-service"
    etag: str
    generation: int


Act = Annotated[
    StageRelease
    | CreateService
    | PlaceRevision
    | StopRevision
    | StartRevision
    | SetScaling
    | CheckRelease
    | ShiftTraffic
    | ShiftAccess
    | RetireTag
    | Remember
    | RetireService
    | RemoveService,
    Field(discriminator="act"),
]
Kind = Literal["stage", "place", "check", "shift", "retire"]


class Step(Frozen):
    """One step: its id is its position, for two checks of one plan are two steps."""

    id: str
    kind: Kind
    text: str
    undo: str
    act: Act


class Reason(Frozen):
    """Why a plan is refused, and the way out."""

    message: str
    hint: str
    place: str = ""


class Plan(Frozen):
    """The ordered steps for one service on one target, fixed before anything changes.

    `found` is the split in force before the first step, `before` the question that the release
    which served then is asked once everything was undone. `keep` leaves a failed canary standing.
    `by_labels` says that the way back is known from labels of the service alone.
    `cost` is None of a plan that is refused, or that was made without the fleet's prices.
    `outage_s` is how long nobody will be served, None where that was never measured.
    `peers` is what a coordinator announces once the run is done, None where it does not change.
    """

    service: str
    target: str
    name: str
    verb: str
    strategy: Literal["create", "beside", "instead", "settings", "none"]
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    refused: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    outage_s: float | None = 0.0
    from_release: str | None = None
    to_release: str | None = None
    revision: str | None = None
    found: Split = ()
    before: CheckRelease | None = None
    min_instances: int = 0
    keep: bool = False
    by_labels: bool = False
    cost: CostChange | None = None
    peers: str | None = None

    @property
    def empty(self) -> bool:
        return not self.steps and not self.refused

    @property
    def in_place(self) -> bool:
        """Whether the new release has the traffic as soon as it starts: nothing of it is left
        standing then that did not pass."""
        return any(isinstance(step.act, StartRevision) for step in self.steps)


KINDS: dict[str, Kind] = {
    "stage-release": "stage",
    "create-service": "place",
    "place-revision": "place",
    "stop-revision": "retire",
    "start-revision": "place",
    "set-scaling": "place",
    "check-release": "check",
    "shift-traffic": "shift",
    "shift-access": "shift",
    "retire-tag": "retire",
    "remember": "retire",
    "retire-service": "retire",
    "remove-service": "retire",
}
