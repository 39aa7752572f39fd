"""The routes of Cloud Run v1, as gcloud asks them (facts s10)."""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from meshctl.emulator.answers import flag, json_body
from meshctl.emulator.failures import invalid, missing
from meshctl.emulator.knative import documents
from meshctl.emulator.moment import resource_version, resource_version_us
from meshctl.emulator.operations import Operation, Operations
from meshctl.emulator.run import policy, view
from meshctl.emulator.run.records import Revision, Service
from meshctl.emulator.run.revisions import Revisions
from meshctl.emulator.run.services import Services

NAMESPACE = "/apis/serving.knative.dev/v1/namespaces/{project}"
LOCATION = "/v1/projects/{project}/locations/{location}"
SERVICE = LOCATION + "/services/{service:[^/:]+}"
_REGION = re.compile(r"^([a-z]+-[a-z]+\d+|[a-z]+\d+)-")
"""gcloud asks REGION-HOST: the host says which region is meant."""
_LONGEST_WAIT_S = 30.0


class KnativeApi:
    """HTTP in, documents of v1 out; the verbs are those of v2."""

    def __init__(self, services: Services, revisions: Revisions, operations: Operations) -> None:
        self._services, self._revisions, self._operations = services, revisions, operations

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_get(LOCATION + "/services", self.list_everywhere)
        router.add_get(NAMESPACE + "/services", self.list_services)
        router.add_post(NAMESPACE + "/services", self.create)
        router.add_get(NAMESPACE + "/services/{service}", self.get)
        router.add_put(NAMESPACE + "/services/{service}", self.replace)
        router.add_delete(NAMESPACE + "/services/{service}", self.delete)
        router.add_get(NAMESPACE + "/revisions", self.list_revisions)
        router.add_get(NAMESPACE + "/revisions/{revision}", self.get_revision)
        router.add_delete(NAMESPACE + "/revisions/{revision}", self.delete_revision)
        router.add_get(SERVICE + ":getIamPolicy", self.get_policy)
        router.add_post(SERVICE + ":setIamPolicy", self.set_policy)
        router.add_post(SERVICE + ":testIamPermissions", self.test_permissions)
        router.add_post(LOCATION + "/operations/{operation:[^/:]+}:wait", self.wait)

    async def list_everywhere(self, request: web.Request) -> web.Response:
        """GET locations/-/services"""
        match = request.match_info
        location = None if match["location"] == "-" else match["location"]
        return self._listed(match["project"], location)

    async def list_services(self, request: web.Request) -> web.Response:
        """GET services of the host's region"""
        return self._listed(request.match_info["project"], _region(request))

    def _listed(self, project: str, location: str | None) -> web.Response:
        rows = self._of(project, location)
        items = [_shown(service) for service in rows]
        return web.json_response(documents.listed("ServiceList", items) | {"unreachable": []})

    def _of(self, project: str, location: str | None) -> list[Service]:
        every = self._services.catalogue.services.values()
        return sorted(
            (s for s in every if s.project == project and location in (None, s.location)),
            key=lambda service: (service.location, service.id),
        )

    def _find(self, request: web.Request) -> Service:
        match = request.match_info
        project, location = match["project"], _region(request)
        if location:
            name = f"projects/{project}/locations/{location}/services/{match['service']}"
            return self._services.get(name)
        for service in self._of(project, None):
            if service.id == match["service"]:
                return service
        raise missing(f"Resource '{match['service']}' of kind 'SERVICE' does not exist.")

    async def get(self, request: web.Request) -> web.Response:
        """GET a service"""
        return web.json_response(_shown(self._find(request)))

    async def create(self, request: web.Request) -> web.Response:
        """POST services"""
        body = await json_body(request)
        location = _region(request)
        if location is None:
            raise invalid("The region is missing: ask REGION-HOST, as gcloud does.", "location")
        parent = f"projects/{request.match_info['project']}/locations/{location}"
        name = (body.get("metadata") or {}).get("name", "")
        operation = self._services.create(parent, name, documents.wishes(body), _dry(request))
        return self._taken(f"{parent}/services/{name}", operation, _dry(request), body)

    async def replace(self, request: web.Request) -> web.Response:
        """PUT a service: it becomes what the document says and nothing else"""
        body, service = await json_body(request), self._find(request)
        given = (body.get("metadata") or {}).get("resourceVersion")
        version = resource_version_us(given) if given else None
        wish = documents.wishes(body)
        operation = self._services.replace(service.name, wish, version, _dry(request))
        return self._taken(service.name, operation, _dry(request), body)

    def _taken(
        self, name: str, operation: Operation, dry: bool, body: dict[str, Any]
    ) -> web.Response:
        """The service as it is on its way, with the operation to wait for."""
        if dry:
            return web.json_response(body)
        return web.json_response(_shown(self._services.get(name), operation["name"]))

    async def delete(self, request: web.Request) -> web.Response:
        """DELETE a service"""
        await self._services.delete(self._find(request).name, None, _dry(request))
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    async def list_revisions(self, request: web.Request) -> web.Response:
        """GET revisions, of one service where a label selects it"""
        selector = request.query.get("labelSelector", "")
        owner = _selected(selector)
        every = self._of(request.match_info["project"], _region(request))
        services = [service for service in every if owner in (None, service.id)]
        pairs = [(s, r) for s in services for r in s.revisions.values()]
        pairs.sort(key=lambda pair: pair[1].created, reverse=True)
        items = [self._revision(service, revision) for service, revision in pairs]
        return web.json_response(documents.listed("RevisionList", items))

    async def get_revision(self, request: web.Request) -> web.Response:
        """GET a revision"""
        return web.json_response(self._revision(*self._find_revision(request)))

    async def delete_revision(self, request: web.Request) -> web.Response:
        """DELETE a revision"""
        service, revision = self._find_revision(request)
        parent = service.name.rpartition("/services/")[0]
        await self._revisions.delete(parent, service.id, revision.name)
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _find_revision(self, request: web.Request) -> tuple[Service, Revision]:
        name = request.match_info["revision"]
        for service in self._of(request.match_info["project"], _region(request)):
            if name in service.revisions:
                return service, service.revisions[name]
        raise missing(f"Revision '{name}' does not exist.")

    def _revision(self, service: Service, revision: Revision) -> dict[str, Any]:
        shown = self._revisions.shown(service, revision)
        return documents.revision(shown, resource_version(revision.updated or revision.created))

    async def get_policy(self, request: web.Request) -> web.Response:
        """GET :getIamPolicy"""
        return web.json_response(policy.shown(self._named(request)))

    async def set_policy(self, request: web.Request) -> web.Response:
        """POST :setIamPolicy"""
        service, body = self._named(request), await json_body(request)
        return web.json_response(policy.replace(self._services.catalogue, service, body))

    async def test_permissions(self, request: web.Request) -> web.Response:
        """POST :testIamPermissions: the caller owns the project"""
        body = await json_body(request)
        return web.json_response({"permissions": body.get("permissions", [])})

    def _named(self, request: web.Request) -> Service:
        match = request.match_info
        parent = f"projects/{match['project']}/locations/{match['location']}"
        return self._services.get(f"{parent}/services/{match['service']}")

    async def wait(self, request: web.Request) -> web.Response:
        """POST operations/ID:wait; the response is a v1 Service (facts s10)"""
        match = request.match_info
        parent = f"projects/{match['project']}/locations/{match['location']}"
        name = f"{parent}/operations/{match['operation']}"
        operation = dict(await self._operations.wait(name, _LONGEST_WAIT_S))
        operation.pop("metadata", None)
        if "response" in operation:
            operation["response"] = self._response(operation["response"])
        return web.json_response(operation)

    def _response(self, found: dict[str, Any]) -> dict[str, Any]:
        service = self._services.catalogue.services.get(found["name"])
        version = resource_version(service.updated) if service else ""
        return {"@type": documents.SERVICE_TYPE, **documents.service(found, version)}


def _shown(service: Service, operation: str | None = None) -> dict[str, Any]:
    return documents.service(view.service(service), resource_version(service.updated), operation)


def _dry(request: web.Request) -> bool:
    return request.query.get("dryRun") == "all" or flag(request, "dryRun")


def _region(request: web.Request) -> str | None:
    match = _REGION.match(request.host)
    return match[1] if match else None


def _selected(selector: str) -> str | None:
    """The service of a label selector; ApiError 400 for any other selection."""
    key, _, value = (part.strip() for part in selector.partition("="))
    if not selector:
        return None
    if key != documents.SERVICE_LABEL:
        raise invalid(f"The selector {selector!r} is not imitated here.", "labelSelector")
    return value.removeprefix("=").strip()
