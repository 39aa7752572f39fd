"""Revisions: read, list and delete; they are only ever made through their service."""

from __future__ import annotations

from typing import Any

from meshctl.emulator.failures import ApiError, missing
from meshctl.emulator.moment import now_us, rfc3339
from meshctl.emulator.operations import Operation, Operations
from meshctl.emulator.run import view
from meshctl.emulator.run.records import READY, Revision, Service
from meshctl.emulator.run.services import Services
from meshctl.emulator.serve.serving import Serving
from meshctl.emulator.settings import Settings


class Revisions:
    """The verbs on revisions."""

    def __init__(
        self, services: Services, operations: Operations, serving: Serving, settings: Settings
    ) -> None:
        self._services, self._operations = services, operations
        self._serving, self._settings = serving, settings

    def shown(self, service: Service, revision: Revision) -> dict[str, Any]:
        """One revision as answered."""
        floor = self._serving.floor(service, revision)
        return view.revision(revision, service, floor, self._serving.warm(revision))

    def find(self, parent: str, service_id: str, name: str) -> tuple[Service, Revision]:
        """A revision of a service, or of any where the service is '-'; ApiError 404."""
        for service in self._of(parent, service_id):
            if name in service.revisions:
                return service, service.revisions[name]
        raise missing(f"Revision '{name}' does not exist.")

    def _of(self, parent: str, service_id: str) -> list[Service]:
        if service_id != "-":
            return [self._services.get(f"{parent}/services/{service_id}")]
        return self._services.of(parent)

    def list(self, parent: str, service_id: str) -> list[tuple[Service, Revision]]:
        """facts s8: newest first."""
        pairs = [(s, r) for s in self._of(parent, service_id) for r in s.revisions.values()]
        return sorted(pairs, key=lambda pair: pair[1].created, reverse=True)

    async def delete(self, parent: str, service_id: str, name: str) -> Operation:
        """Delete a revision that serves nothing; a tag it has is dropped (a setting)."""
        service, revision = self.find(parent, service_id, name)
        if any(row[0] == name and row[1] for row in self._serving.rows(service)):
            raise ApiError(
                "FAILED_PRECONDITION",
                f'Revision "{name}" cannot be directly deleted because it is actively serving.',
            )
        gone = self.shown(service, revision) | {"deleteTime": rfc3339(now_us())}
        gone = {"@type": view.REVISION_TYPE, **gone}
        operation = self._operations.begin(parent, gone, now_us())
        self._forget(service, revision)
        if self._settings.deleted_revision_drops_tag:
            self._untag(service, name)
        await self._serving.route(service)
        await self._operations.finish(operation["name"], gone)
        return operation

    def _forget(self, service: Service, revision: Revision) -> None:
        self._serving.drop_revision(revision)
        self._services.catalogue.drop_revision(service, revision.name)
        rest = sorted(service.revisions.values(), key=lambda r: r.created)
        ready = [r.name for r in rest if r.state == READY]
        if service.latest_created == revision.name:
            service.latest_created = rest[-1].name if rest else ""
        if service.latest_ready == revision.name:
            service.latest_ready = ready[-1] if ready else ""
        self._services.catalogue.save(service)

    def _untag(self, service: Service, name: str) -> None:
        """facts s1: the platform tries to drop the tag of a deleted revision."""
        for rows in (service.statuses, service.spec["traffic"]):
            # A wished percent stays: dropping it would send the traffic elsewhere, unasked.
            rows[:] = [row for row in rows if row.get("revision") != name or row.get("percent")]
        service.updated = now_us()
        self._services.catalogue.save(service)
