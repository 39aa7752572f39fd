"""Reads services: one with its revisions, many with few calls, or one once it has settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meshctl.errors import Unreachable
from meshctl.outside.cloudrun import CloudRunApi
from meshctl.outside.retries import Patience
from meshctl.outside.several import several
from meshctl.plan.observed import ServiceSeen
from meshctl.targets.cloudrun.reading import is_reconciling, service_seen, short

Json = dict[str, Any]
SETTLING_S = 2400.0
"""Longest wait until a service is at rest: a GPU's startup probe alone may take 1,800 s."""
OURS = 4
"""With one in so many of its services asked for, all revisions of the region are read at once."""
FIRST_POLL_S, LONGEST_POLL_S = 0.2, 5.0
POLICIES_AT_ONCE = 8


class Reads:
    """The readings of one region, each call made with the patience of `outside/retries.py`."""

    def __init__(self, name: str, api: CloudRunApi, patience: Patience) -> None:
        self.name, self.api, self.patience = name, api, patience

    def one(self, service: str, *, policy: bool) -> ServiceSeen | None:
        """One service, in two calls, or three with who may call it."""
        document = self._get(service)
        if document is None:
            return None
        revisions = self._revisions(service)
        return service_seen(document, revisions, self._policy(service) if policy else None)

    def many(self, services: Sequence[str], *, policies: bool) -> dict[str, ServiceSeen | None]:
        """Several at one moment: all services of the region in one call for each hundred, and all
        revisions likewise, unless most of the region is none of ours. A single one by itself."""
        if len(services) == 1:
            return {services[0]: self.one(services[0], policy=policies)}
        listed = self.patience.read(self.api.list_services)
        there = {short(document["name"]): document for document in listed}
        wanted = [name for name in services if name in there]
        revisions = self._revisions_of(wanted, whole=len(there) <= OURS * len(wanted))
        access = self._policies(wanted) if policies else {}
        return {
            name: service_seen(there[name], revisions[name], access.get(name))
            if name in there
            else None
            for name in services
        }

    def settled(self, service: str, at_least: int = 0) -> ServiceSeen | None:
        """The service once it is on its way to nothing, in that generation or a newer one: also
        after its operation ended it may still be on its way. Raises Unreachable after 40 min."""
        deadline = self.patience.clock.monotonic() + SETTLING_S
        pause = FIRST_POLL_S
        while True:
            document = self._get(service)
            if document is None:
                return None
            if not is_reconciling(document) and int(document.get("generation", 0)) >= at_least:
                return service_seen(document, self._revisions(service), None)
            if self.patience.clock.monotonic() > deadline:
                raise Unreachable(
                    f"{service} is still reconciling after {SETTLING_S:g} s",
                    place=self.name,
                    hint=f"look at it: `meshctl status {service}`",
                )
            self.patience.clock.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL_S)

    def _get(self, service: str) -> Json | None:
        return self.patience.read(lambda: self.api.get_service(service))

    def _revisions(self, service: str) -> list[Json]:
        return self.patience.read(lambda: self.api.list_revisions(service))

    def _policy(self, service: str) -> Json:
        return self.patience.read(lambda: self.api.get_policy(service))

    def _revisions_of(self, services: list[str], *, whole: bool) -> dict[str, list[Json]]:
        """The newest first, as they are listed."""
        if not whole:
            return {name: self._revisions(name) for name in services}
        found: dict[str, list[Json]] = {name: [] for name in services}
        for revision in self._revisions("-") if services else ():
            owner = revision.get("service", "") or revision.get("name", "").split("/revisions/")[0]
            found.get(short(owner), []).append(revision)
        return found

    def _policies(self, services: list[str]) -> dict[str, Json]:
        """There is no call for several: one for each, side by side."""
        found = several(self._policy, services, POLICIES_AT_ONCE)
        return dict(zip(services, found, strict=True))
