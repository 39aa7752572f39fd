"""Create, update, replace and delete of services: checks, then a new wish for the reconciler.

Nothing here knows of HTTP: every API that changes services calls these verbs.
"""

from __future__ import annotations

import copy
from typing import Any

from meshctl.emulator.failures import ApiError, exists, invalid, missing
from meshctl.emulator.moment import etag, etag_version, now_us, rfc3339
from meshctl.emulator.operations import Operation, Operations
from meshctl.emulator.quotas import admission
from meshctl.emulator.run import checks, defaults, limits, mask, newest, shape, traffic, view
from meshctl.emulator.run.reconcile import Reconciler, Wish
from meshctl.emulator.run.records import Catalogue, Outcome, Revision, Service
from meshctl.emulator.serve.serving import Serving
from meshctl.emulator.settings import Settings

_EXPIRES_US = 30 * 24 * 3600 * 1_000_000


class Services:
    """The verbs on services; each answers an operation that ends after reconciliation."""

    def __init__(
        self,
        catalogue: Catalogue,
        operations: Operations,
        reconciler: Reconciler,
        serving: Serving,
        settings: Settings,
    ) -> None:
        self.catalogue, self._operations = catalogue, operations
        self._reconciler, self._serving, self._settings = reconciler, serving, settings

    def get(self, name: str) -> Service:
        """One service by its full name; ApiError 404 in the observed wording (facts s6)."""
        found = self.catalogue.services.get(name)
        if found is None:
            _, project, _, location, _, short = name.split("/")
            raise missing(
                f"Resource '{short}' of kind 'SERVICE' in region '{location}' in project "
                f"'{project}' does not exist."
            )
        return found

    def of(self, parent: str) -> list[Service]:
        """The services of a project and region, by name."""
        rows = [
            s for n, s in self.catalogue.services.items() if n.startswith(f"{parent}/services/")
        ]
        return sorted(rows, key=lambda service: service.id)

    def create(self, parent: str, name: str, body: dict[str, Any], dry: bool) -> Operation:
        """Create a service under an id; everything wrong with it is a 400 now."""
        if body.get("name"):
            # facts s8: the id travels in the query, a name in the body is refused.
            raise invalid("service.name must be empty on create.", "service.name")
        checks.service_id(name)
        _, project, _, location = parent.split("/")
        now = now_us()
        service = Service(project, location, name, {}, now, now)
        if service.name in self.catalogue.services:
            raise exists(f"Resource '{name}' already exists.")
        most = self._settings.services_per_region
        limits.one_more_service(self.catalogue.services.values(), service, most)
        return self._accept(service, mask.apply({}, shape.read(body), None, True), dry)

    def update(
        self, name: str, body: dict[str, Any], masked: str | None, allow_missing: bool, dry: bool
    ) -> Operation:
        """Update the masked fields; 409 ABORTED when the body's etag is stale."""
        if name not in self.catalogue.services and allow_missing:
            parent, _, short = name.partition("/services/")
            return self.create(parent, short, {**body, "name": ""}, dry)
        service = self.get(name)
        wish, paths = shape.read(body), mask.paths(masked)
        self.check_etag(service, wish.get("etag"))
        spec = mask.apply(service.spec, wish, paths, self._settings.no_mask_clears)
        touched = any(path.split(".")[0] == "template" for path in paths or [])
        return self._accept(service, spec, dry, touched)

    def replace(
        self, name: str, body: dict[str, Any], version_us: int | None, dry: bool
    ) -> Operation:
        """Make the service what the body says and nothing else, as a v1 PUT does; ApiError 404,
        409 ABORTED when it was last updated at another microsecond than `version_us`."""
        service = self.get(name)
        if version_us is not None and version_us != service.updated:
            raise _conflict(service, str(version_us))
        return self._accept(service, mask.apply({}, shape.read(body), None, True), dry)

    @staticmethod
    def check_etag(service: Service, given: str | None) -> None:
        """facts s1: 409 ABORTED, versions in microseconds; without etag the last write wins."""
        if given and given != etag(service.updated, service.name):
            raise _conflict(service, etag_version(given))

    def _accept(
        self, service: Service, spec: dict[str, Any], dry: bool, touched: bool = False
    ) -> Operation:
        """Check the wish as a whole; unless it is a dry run, take it over.

        `touched` = the request named the template, so that it answers for the revision it asks
        for, new or not.
        """
        spec = self._checked(service, spec)
        forced = touched and self._settings.equal_template_makes_revision
        revision = newest.revision_for(service, spec["template"], forced)
        if revision is not None or spec.get("scaling") != service.spec.get("scaling"):
            admission.admit(self._settings, service.location, spec)
        self._check_targets(service, spec["traffic"], revision)
        if dry and service.location != "global":
            # facts s1: not done, and it cannot be fetched later; ignored for locations/global.
            return self._operations.fresh(_parent(service), {"@type": view.SERVICE_TYPE})
        asked = self._asked(service, spec) if touched else None
        return self._begin(service, spec, revision, asked)

    @staticmethod
    def _asked(service: Service, spec: dict[str, Any]) -> Revision | None:
        name = spec["template"].get("revision") or service.latest_created
        return service.revisions.get(name)

    def _checked(self, service: Service, spec: dict[str, Any]) -> dict[str, Any]:
        checks.service(spec, service.id)
        template = defaults.filled(spec["template"], self._settings.project_number)
        checks.template(template, service.id)
        given = spec["template"].get("scaling", {})
        template = admission.with_maximum(self._settings, service.location, given, template)
        rows = traffic.normal(spec.get("traffic"))
        traffic.check(rows, service.id, bool(spec.get("defaultUriDisabled")))
        every, most = self.catalogue.services.values(), self._settings.tags_per_region
        rows = limits.without_surplus_tags(every, service, rows, most)
        out: dict[str, Any] = defaults.pruned(copy.deepcopy(spec)) | {"template": template}
        out.setdefault("ingress", "INGRESS_TRAFFIC_ALL")
        out.setdefault("launchStage", "GA")
        return out | {"traffic": rows}

    def _check_targets(
        self, service: Service, rows: list[dict[str, Any]], revision: Revision | None
    ) -> None:
        """An unknown revision in traffic: 400 or a failed reconciliation, a setting (s13)."""
        if self._settings.unknown_revision_in_traffic != "reject":
            return
        known = set(service.revisions) | ({revision.name} if revision else set())
        for index, row in enumerate(rows):
            if row.get("revision") and row["revision"] not in known:
                raise invalid(
                    f"Revision '{row['revision']}' referenced in traffic not found.",
                    f"traffic[{index}].revision",
                )

    def _begin(
        self,
        service: Service,
        spec: dict[str, Any],
        revision: Revision | None,
        asked: Revision | None,
    ) -> Operation:
        self._take_over(service, spec, revision)
        metadata = {"@type": view.SERVICE_TYPE, **view.service(service)}
        operation = self._operations.begin(_parent(service), metadata, service.updated)
        rows = copy.deepcopy(spec["traffic"])
        self._reconciler.submit(
            Wish(service, service.generation, rows, revision or asked, operation["name"])
        )
        return operation

    def _take_over(self, service: Service, spec: dict[str, Any], revision: Revision | None) -> None:
        """The wish becomes what the service wants: a new generation, not observed yet."""
        now = now_us()
        service.spec, service.updated = spec, now
        service.generation += 1
        service.ready = Outcome(since=now)
        if service.generation == 1:
            service.routes = Outcome(since=now)
        if revision is not None:
            service.counter += 1
            service.latest_created = revision.name
            service.configurations = Outcome(since=now)
            # The revision first: one that its service does not know yet is dropped at a restart.
            self.catalogue.save_revision(service, revision)
        self.catalogue.save(service)

    async def delete(self, name: str, given_etag: str | None, dry: bool) -> Operation:
        """Delete a service with all its revisions; instances drain afterwards."""
        service = self.get(name)
        if self._settings.delete_checks_etag:
            self.check_etag(service, given_etag)
        if dry and service.location != "global":
            return self._operations.fresh(_parent(service), {"@type": view.SERVICE_TYPE})
        now = now_us()
        gone = {"@type": view.SERVICE_TYPE, **view.service(service)}
        gone |= {"deleteTime": rfc3339(now), "expireTime": rfc3339(now + _EXPIRES_US)}
        operation = self._operations.begin(_parent(service), gone, now)
        self.catalogue.drop(service)
        await self._reconciler.abandon(service)
        self.catalogue.drop(service)
        await self._serving.drop(service)
        # facts s1: the response is the service with delete_time and expire_time.
        await self._operations.finish(operation["name"], gone)
        return operation


def _parent(service: Service) -> str:
    return f"projects/{service.project}/locations/{service.location}"


def _conflict(service: Service, given: str) -> ApiError:
    """facts s1: the observed wording, both versions in microseconds."""
    return ApiError(
        "ABORTED",
        f"Conflict for resource '{service.id}': version '{given}' was specified but current "
        f"version is '{service.updated}'.",
    )
