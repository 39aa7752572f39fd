"""The emulator's own routes: status, stop, reset, settings, faults, images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from meshctl.emulator.answers import json_body
from meshctl.emulator.cloud import Cloud


class AdminApi:
    """What meshctl and tests use to steer the embedded cloud."""

    def __init__(self, cloud: Cloud, stop: asyncio.Event, swapped: Callable[[], None]) -> None:
        self._cloud, self._stop, self._swapped = cloud, stop, swapped

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_get("/emulator/status", self.status)
        router.add_post("/emulator/stop", self.stop)
        router.add_post("/emulator/reset", self.reset)
        router.add_get("/emulator/settings", self.settings)
        router.add_put("/emulator/settings", self.change_settings)
        router.add_get("/emulator/faults", self.faults)
        router.add_post("/emulator/faults", self.order_fault)
        router.add_delete("/emulator/faults", self.clear_faults)
        router.add_get("/emulator/images", self.images)

    async def status(self, request: web.Request) -> web.Response:
        """GET status"""
        return web.json_response(self._cloud.status())

    async def stop(self, request: web.Request) -> web.Response:
        """POST stop: answers first, then stops as SIGTERM does."""
        asyncio.get_running_loop().call_later(0.05, self._stop.set)
        return web.json_response(self._cloud.status() | {"state": "stopping"})

    async def reset(self, request: web.Request) -> web.Response:
        """POST reset: back to an empty cloud on the same port."""
        await self._cloud.reset()
        self._swapped()
        return web.json_response(self._cloud.status())

    async def settings(self, request: web.Request) -> web.Response:
        """GET settings"""
        return web.json_response(self._cloud.settings.to_json())

    async def change_settings(self, request: web.Request) -> web.Response:
        """PUT settings: the given ones change and are remembered."""
        body = await json_body(request)
        self._cloud.settings.merge(body)
        self._cloud.keep_settings()
        if "seed" in body:
            self._cloud.serving.rng.seed(body["seed"])
        return await self.settings(request)

    async def faults(self, request: web.Request) -> web.Response:
        """GET faults: the orders still in force."""
        return web.json_response({"faults": self._cloud.faults.listing()})

    async def order_fault(self, request: web.Request) -> web.Response:
        """POST faults"""
        self._cloud.faults.order(await json_body(request))
        return await self.faults(request)

    async def clear_faults(self, request: web.Request) -> web.Response:
        """DELETE faults"""
        self._cloud.faults.clear()
        return await self.faults(request)

    async def images(self, request: web.Request) -> web.Response:
        """GET images: repositories with tags and digests."""
        return web.json_response({"repositories": self._cloud.registry.listing()})
