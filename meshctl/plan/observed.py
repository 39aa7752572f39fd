"""What exists on a target at one moment. Facts only; what could not be read is unknown. Pure."""

from __future__ import annotations

from pydantic import Field

from meshctl.plan.release import Template
from meshctl.spec.model import Frozen

LATEST = "LATEST"
"""Stands for the newest ready revision in a split, as Cloud Run and gcloud spell it."""


class Share(Frozen):
    """One row of a traffic split: a revision (or LATEST), its percent, and perhaps a tag."""

    revision: str
    percent: int = 0
    tag: str | None = None
    url: str | None = None


Split = tuple[Share, ...]


class Revision(Frozen):
    """One revision as the platform shows it; `release` is recomputed from its template."""

    name: str
    release: str
    template: Template
    ready: bool
    failed: bool
    reason: str = ""
    created: str = ""
    labels: dict[str, str] = Field(default={})


class ServiceScaling(Frozen):
    """Instances at the level of the service; never part of a release. meshctl writes the minimum
    alone: a maximum, or a count that was set by hand (`manual`), is somebody else's."""

    min: int = 0
    max: int | None = None
    manual: int | None = None


class Carried(Frozen):
    """What hangs on the template of a service and is part of no release: labels and annotations of
    others, and the name of the container. Every later revision keeps it."""

    labels: dict[str, str] = Field(default={})
    annotations: dict[str, str] = Field(default={})
    container: str = ""


class ServiceSeen(Frozen):
    """One service at one moment. `public` is open to everyone; where that means everyone with an
    account, it is not `anonymous`: callers still need a token. `traffic` is what was asked for and
    `effective` what is in force. `modifier` is who last changed it, None where the cloud does not
    say. `held_open` says what opens it beside everyone as invoker, "" where nothing does: meshctl
    cannot take that away, for it could not give it back. `barred` says why nothing may be replaced
    there: what runs is more than the releases that are seen; `down` that somebody stopped it."""

    name: str
    url: str
    etag: str
    generation: int
    ready: bool
    reconciling: bool
    reason: str
    traffic: Split
    effective: Split
    revisions: tuple[Revision, ...]
    latest_ready: str | None
    latest_created: str | None
    scaling: ServiceScaling
    public: bool | None
    anonymous: bool = True
    held_open: str = ""
    labels: dict[str, str] = Field(default={})
    modifier: str | None = None
    carried: Carried = Carried()
    barred: str = ""
    down: bool = False

    def revision(self, name: str) -> Revision | None:
        return next((r for r in self.revisions if r.name == name), None)

    def resolve(self, revision: str) -> str | None:
        """The revision a row stands for: LATEST is the newest ready one."""
        return self.latest_ready if revision == LATEST else revision

    @property
    def on_host(self) -> bool:
        """Whether its revisions are units of a host; there is no split then, and no door."""
        return any(revision.template.unit for revision in self.revisions)

    @property
    def serving(self) -> tuple[Share, ...]:
        """The rows that really get requests now, LATEST resolved and merged, largest first."""
        shares: dict[str, int] = {}
        for row in self.effective:
            name = self.resolve(row.revision)
            if row.percent and name:
                shares[name] = shares.get(name, 0) + row.percent
        rows = [Share(revision=name, percent=percent) for name, percent in shares.items()]
        return tuple(sorted(rows, key=lambda row: (-row.percent, row.revision)))

    @property
    def main(self) -> Revision | None:
        """The revision that gets most of the requests."""
        return self.revision(self.serving[0].revision) if self.serving else None


class TargetSeen(Frozen):
    """One target at one moment; services it was asked about and does not have map to None."""

    name: str
    services: dict[str, ServiceSeen | None]
    unknown: str = ""


class Observed(Frozen):
    """Every target that was asked; an unreachable one is unknown, never empty."""

    at: str
    targets: dict[str, TargetSeen]

    def service(self, target: str, name: str) -> ServiceSeen | None:
        return self.targets[target].services.get(name)
