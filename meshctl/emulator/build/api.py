"""The routes of Cloud Build v1."""

from __future__ import annotations

import base64
from typing import Any

from aiohttp import web

from meshctl.emulator.answers import json_body, page
from meshctl.emulator.build.builds import Builds
from meshctl.emulator.failures import invalid, missing

GLOBAL = "/v1/projects/{project}/builds"
REGIONAL = "/v1/projects/{project}/locations/{location}/builds"
ONE = "/{build:[^/:]+}"
OPERATION = "/v1/operations/build/{project}/{code:[^/:]+}"


class BuildApi:
    """HTTP in, builds out; both the old paths and those with a location."""

    def __init__(self, builds: Builds) -> None:
        self._builds = builds

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        for base in (GLOBAL, REGIONAL):
            router.add_post(base, self.create)
            router.add_get(base, self.list)
            router.add_get(base + ONE, self.get)
            router.add_post(base + ONE + ":cancel", self.cancel)
        router.add_get(OPERATION, self.operation)
        router.add_post(OPERATION + ":cancel", self.cancel_operation)

    @staticmethod
    def _location(request: web.Request) -> str | None:
        """The path's location, or the one of ?parent= and ?name= (facts s8); None = not said."""
        if "location" in request.match_info:
            return str(request.match_info["location"])
        text = request.query.get("parent") or request.query.get("name") or ""
        parts = text.split("/")
        return parts[3] if len(parts) > 3 and parts[2] == "locations" else None

    async def create(self, request: web.Request) -> web.Response:
        """POST builds: an operation whose metadata holds the build."""
        body = await json_body(request)
        location = self._location(request) or "global"
        build = self._builds.create(request.match_info["project"], location, body)
        return web.json_response(self._builds.operation(build))

    async def list(self, request: web.Request) -> web.Response:
        """GET builds, newest first; a filter on the status alone is understood."""
        rows = self._builds.list(request.match_info["project"], self._location(request))
        wanted = request.query.get("filter", "").strip()
        if wanted:
            key, _, value = wanted.replace(" ", "").partition("=")
            if key not in ("status", "build_id", "id"):
                raise invalid(f"Unsupported filter '{wanted}'.", "filter")
            field = "status" if key == "status" else "id"
            rows = [row for row in rows if row[field] == value.strip('"')]
        return web.json_response(page(request, "builds", rows, lambda row: row))

    def _build(self, request: web.Request) -> dict[str, Any]:
        build = self._builds.get(request.match_info["build"])
        location = self._location(request)
        if build["projectId"] != request.match_info["project"]:
            raise missing("Build not found.")
        if location and f"/locations/{location}/" not in build["name"]:
            raise missing("Build not found.")
        return build

    async def get(self, request: web.Request) -> web.Response:
        """GET a build."""
        return web.json_response(self._build(request))

    async def cancel(self, request: web.Request) -> web.Response:
        """POST :cancel"""
        return web.json_response(await self._builds.cancel(self._build(request)["id"]))

    def _of_operation(self, request: web.Request) -> dict[str, Any]:
        try:
            build_id = base64.urlsafe_b64decode(request.match_info["code"]).decode()
        except ValueError:
            raise missing("Operation not found.") from None
        return self._builds.get(build_id)

    async def operation(self, request: web.Request) -> web.Response:
        """GET operations/build/PROJECT/CODE as the client polls it."""
        return web.json_response(self._builds.operation(self._of_operation(request)))

    async def cancel_operation(self, request: web.Request) -> web.Response:
        """POST operations/build/PROJECT/CODE:cancel"""
        await self._builds.cancel(self._of_operation(request)["id"])
        return web.json_response({})
