"""The whole embedded cloud as one object: its parts put together, started and stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from aiohttp import web

from meshctl.emulator import disk, settings, spawn
from meshctl.emulator.build.api import BuildApi
from meshctl.emulator.build.builds import Builds
from meshctl.emulator.faults import Faults
from meshctl.emulator.identity import IdentityApi
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.images.roots import Roots
from meshctl.emulator.knative.api import KnativeApi
from meshctl.emulator.logging.api import LoggingApi
from meshctl.emulator.monitoring.api import MonitoringApi
from meshctl.emulator.monitoring.counts import Counts
from meshctl.emulator.operations import Operations
from meshctl.emulator.quotas.api import QuotasApi
from meshctl.emulator.quotas.preferences import Preferences
from meshctl.emulator.quotas.slots import Slots
from meshctl.emulator.run.api import RunApi
from meshctl.emulator.run.policy import Guard
from meshctl.emulator.run.reconcile import Reconciler
from meshctl.emulator.run.records import Catalogue
from meshctl.emulator.run.revisions import Revisions
from meshctl.emulator.run.services import Services
from meshctl.emulator.serve.instance import Host
from meshctl.emulator.serve.preparation import Preparation
from meshctl.emulator.serve.serving import Serving
from meshctl.emulator.storage.api import StorageApi
from meshctl.emulator.storage.objects import Store
from meshctl.emulator.storage.uploads import Uploads
from meshctl.emulator.tokens import Tokens

# What a reset forgets; the port, the settings and the lock stay.
STATE = (
    "run",
    "operations",
    "builds",
    "images",
    "roots",
    "storage",
    "uploads",
    "logs",
    "home",
    "mounts",
    "metrics",
    "quotas",
)


class Cloud:
    """Everything below one data folder."""

    def __init__(self, data: Path, port: int, options: settings.Settings) -> None:
        self.data, self.port, self.settings = data, port, options
        self.url = f"http://127.0.0.1:{port}"
        self.faults = Faults()
        self.children = spawn.Children(data / "children.json")
        self.children.sweep()
        self._assemble()

    def _assemble(self) -> None:
        data, options = self.data, self.settings
        self.registry = Registry(data / "images")
        roots = Roots(data / "roots", self.registry)
        self.catalogue = Catalogue(data / "run")
        self.operations = Operations(
            data / "operations", options.operations_kept, options.interrupted_operation_code
        )
        tokens = Tokens(data / "key")
        host = Host(data, options, self.children, f"127.0.0.1:{self.port}")
        self.store = Store(data / "storage")
        counts = Counts(data / "metrics" / "requests.json", options.metric_points_kept)
        preparation = Preparation(self.registry, roots, self.store, host)
        self.serving = Serving(self.catalogue, preparation, host, counts, Guard(tokens))
        self.serving.gate = Slots(options).take
        self.reconciler = Reconciler(
            self.catalogue, self.registry, self.serving, self.operations, options
        )
        self.builds = Builds(data / "builds", self.store, self.registry, self.children, options)
        self._apis = self._make_apis(tokens) | self._beside(host, counts)

    def _beside(self, host: Host, counts: Counts) -> dict[str, Any]:
        """The services beside Cloud Run: Cloud Quotas, Logging, Monitoring."""
        preferences = Preferences(self.data / "quotas", self.settings, self.keep_settings)
        return {
            "quotas": QuotasApi(preferences, self.settings),
            "logging": LoggingApi(host.entries),
            "monitoring": MonitoringApi(counts, self.serving.sample),
        }

    def keep_settings(self) -> None:
        """Remember the settings as they are now for the next start."""
        disk.write_json(self.data / "settings.json", self.settings.to_json())

    def _make_apis(self, tokens: Tokens) -> dict[str, Any]:
        services = Services(
            self.catalogue, self.operations, self.reconciler, self.serving, self.settings
        )
        revisions = Revisions(services, self.operations, self.serving, self.settings)
        uploads = Uploads(self.data / "uploads")
        return {
            "run": RunApi(services, revisions, self.operations),
            "knative": KnativeApi(services, revisions, self.operations),
            "build": BuildApi(self.builds),
            "storage": StorageApi(self.store, uploads, self.url),
            "identity": IdentityApi(tokens, self.settings),
        }

    def router(self) -> web.UrlDispatcher:
        """The routes of all imitated services, for the parts as they are now."""
        router = web.UrlDispatcher()
        for api in self._apis.values():
            api.add_to(router)
        return router

    async def start(self) -> None:
        """Restore what is remembered: fronts, minimum instances, unfinished work."""
        await self.serving.start()
        self.reconciler.resume()

    async def close(self) -> None:
        """Stop in order: no new work, builds, then fronts and instances."""
        await self.reconciler.close()
        await self.builds.close()
        await self.serving.close()

    async def reset(self) -> None:
        """Stop everything, forget everything, start empty on the same port."""
        await self.close()
        for name in STATE:
            disk.remove(self.data / name)
        self.faults.clear()
        self._assemble()
        await self.start()

    def status(self) -> dict[str, Any]:
        """What `GET /emulator/status` says."""
        revisions = sum(len(s.revisions) for s in self.catalogue.services.values())
        return {
            "state": "running",
            "url": self.url,
            "pid": os.getpid(),
            "services": len(self.catalogue.services),
            "revisions": revisions,
            "instances": self.serving.instances,
            "buckets": len(self.store.buckets),
            "builds": self.builds.count,
            "faults": len(self.faults.orders),
            "rss_bytes": _rss_bytes(),
        }


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
