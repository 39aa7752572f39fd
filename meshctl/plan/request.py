"""What a plan is made from: wishes, facts and what was asked for, gathered in one value. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.budget.tenants import Known
from meshctl.plan.pools import QuotaSeen
from meshctl.plan.release import Release
from meshctl.plan.source import SourceSeen
from meshctl.spec.model import Fleet, Service
from meshctl.state.builds import Built
from meshctl.state.ledger import Ledger


@dataclass(frozen=True)
class Request:
    """One service on one target, and everything a plan for it may depend on.

    `salt` makes the names of new revisions unique; it comes in as an argument, so that equal
    requests give equal plans.
    """

    fleet: Fleet
    key: str
    target: str
    salt: str
    built: Built | None = None
    ledger: Ledger = field(default_factory=Ledger)
    announcer: str = ""  # the coordinator that announces this peer as soon as it is proved
    take_traffic: bool = False
    tag: str | None = None
    keep: bool = False
    release: Release | None = None  # wanted instead of what the fleet says
    unit: str = ""  # on a host: the text of the unit that the fleet wants
    peers: str = ""  # what the coordinator announces, or the one that this peer is like
    quota: QuotaSeen | None = None  # None: not asked, which is not the same as enough
    headers: Known | None = None  # what the payloads' headers say; None: not asked, likewise
    source: SourceSeen | None = None  # None: the image is not built here, or nobody looked

    @property
    def service(self) -> Service:
        return self.fleet.services[self.key]

    @property
    def name(self) -> str:
        """The Cloud Run id of the service."""
        return self.service.name or self.key
