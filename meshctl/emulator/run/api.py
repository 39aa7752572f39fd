"""The routes of Cloud Run v2: services, revisions, operations, IAM."""

from __future__ import annotations

import re

from aiohttp import web

from meshctl.emulator.answers import flag, json_body, page
from meshctl.emulator.failures import invalid
from meshctl.emulator.operations import Operations
from meshctl.emulator.run import policy, view
from meshctl.emulator.run.revisions import Revisions
from meshctl.emulator.run.services import Services

PARENT = "/v2/projects/{project}/locations/{location}"
SERVICES = PARENT + "/services"
SERVICE = SERVICES + "/{service:[^/:]+}"
REVISIONS = SERVICE + "/revisions"
OPERATION = PARENT + "/operations/{operation:[^/:]+}"
_DURATION = re.compile(r"^\d{1,9}(\.\d{1,9})?s$")
_LONGEST_WAIT_S = 600.0


def _parent(request: web.Request) -> str:
    match = request.match_info
    return f"projects/{match['project']}/locations/{match['location']}"


def _name(request: web.Request) -> str:
    return f"{_parent(request)}/services/{request.match_info['service']}"


class RunApi:
    """HTTP in, the verbs' answers out."""

    def __init__(self, services: Services, revisions: Revisions, operations: Operations) -> None:
        self._services, self._revisions, self._operations = services, revisions, operations

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_post(SERVICES, self.create)
        router.add_get(SERVICES, self.list)
        router.add_get(SERVICE, self.get)
        router.add_patch(SERVICE, self.update)
        router.add_delete(SERVICE, self.delete)
        router.add_get(SERVICE + ":getIamPolicy", self.get_policy)
        router.add_post(SERVICE + ":setIamPolicy", self.set_policy)
        router.add_post(SERVICE + ":testIamPermissions", self.test_permissions)
        router.add_get(REVISIONS, self.list_revisions)
        router.add_get(REVISIONS + "/{revision}", self.get_revision)
        router.add_delete(REVISIONS + "/{revision}", self.delete_revision)
        router.add_get(PARENT + "/operations", self.list_operations)
        router.add_get(OPERATION, self.get_operation)
        router.add_delete(OPERATION, self.delete_operation)
        router.add_post(OPERATION + ":wait", self.wait_operation)

    async def create(self, request: web.Request) -> web.Response:
        """POST services?serviceId="""
        service_id = request.query.get("serviceId", "")
        body = await json_body(request)
        dry = flag(request, "validateOnly")
        return web.json_response(self._services.create(_parent(request), service_id, body, dry))

    async def list(self, request: web.Request) -> web.Response:
        """GET services, paged; facts s8: the '-' location is refused."""
        if request.match_info["location"] == "-":
            raise invalid("Listing services in all locations is not supported.", "parent")
        rows = self._services.of(_parent(request))
        return web.json_response(page(request, "services", rows, view.service))

    async def get(self, request: web.Request) -> web.Response:
        """GET a service."""
        return web.json_response(view.service(self._services.get(_name(request))))

    async def update(self, request: web.Request) -> web.Response:
        """PATCH a service with updateMask, allowMissing, validateOnly."""
        body = await json_body(request)
        masked = request.query.get("updateMask")
        missing, dry = flag(request, "allowMissing"), flag(request, "validateOnly")
        return web.json_response(self._services.update(_name(request), body, masked, missing, dry))

    async def delete(self, request: web.Request) -> web.Response:
        """DELETE a service."""
        given, dry = request.query.get("etag"), flag(request, "validateOnly")
        return web.json_response(await self._services.delete(_name(request), given, dry))

    async def get_policy(self, request: web.Request) -> web.Response:
        """GET :getIamPolicy"""
        return web.json_response(policy.shown(self._services.get(_name(request))))

    async def set_policy(self, request: web.Request) -> web.Response:
        """POST :setIamPolicy"""
        service = self._services.get(_name(request))
        body = await json_body(request)
        return web.json_response(policy.replace(self._services.catalogue, service, body))

    async def test_permissions(self, request: web.Request) -> web.Response:
        """POST :testIamPermissions: the caller owns the project and has all it asks for,
        on services that do not exist yet, too (facts s6: asked before a first deploy)."""
        asked = (await json_body(request)).get("permissions", [])
        if not isinstance(asked, list):
            raise invalid("permissions must be a list.", "permissions")
        return web.json_response({"permissions": asked})

    async def list_revisions(self, request: web.Request) -> web.Response:
        """GET revisions, newest first, '-' accepted as service."""
        rows = self._revisions.list(_parent(request), request.match_info["service"])
        shown = page(request, "revisions", rows, lambda pair: self._revisions.shown(*pair))
        return web.json_response(shown)

    async def get_revision(self, request: web.Request) -> web.Response:
        """GET a revision."""
        match = request.match_info
        found = self._revisions.find(_parent(request), match["service"], match["revision"])
        return web.json_response(self._revisions.shown(*found))

    async def delete_revision(self, request: web.Request) -> web.Response:
        """DELETE a revision that serves nothing."""
        match = request.match_info
        parent = _parent(request)
        answer = await self._revisions.delete(parent, match["service"], match["revision"])
        return web.json_response(answer)

    def _operation(self, request: web.Request) -> str:
        return f"{_parent(request)}/operations/{request.match_info['operation']}"

    async def get_operation(self, request: web.Request) -> web.Response:
        """GET an operation."""
        return web.json_response(self._operations.get(self._operation(request)))

    async def list_operations(self, request: web.Request) -> web.Response:
        """GET operations, newest first."""
        rows = self._operations.list(_parent(request))
        return web.json_response(page(request, "operations", rows, lambda row: row))

    async def delete_operation(self, request: web.Request) -> web.Response:
        """DELETE an operation."""
        self._operations.delete(self._operation(request))
        return web.json_response({})

    async def wait_operation(self, request: web.Request) -> web.Response:
        """POST :wait {"timeout": "30s"}"""
        text = (await json_body(request)).get("timeout") or "30s"
        if not isinstance(text, str) or not _DURATION.match(text):
            raise invalid("Invalid value at 'timeout': Illegal duration format.", "timeout")
        limit_s = min(float(text[:-1]), _LONGEST_WAIT_S)
        return web.json_response(await self._operations.wait(self._operation(request), limit_s))
