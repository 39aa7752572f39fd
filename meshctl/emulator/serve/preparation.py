"""Everything an instance of a revision needs, fetched when it is about to start."""

from __future__ import annotations

import asyncio
import uuid

from meshctl.emulator import disk
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.images.roots import Roots
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.run.records import Revision
from meshctl.emulator.serve import buckets, launch, secrets
from meshctl.emulator.serve.instance import Host
from meshctl.emulator.serve.mounts import Mounts
from meshctl.emulator.storage.objects import Store


class Preparation:
    """Unpacks the image, lays out the volumes, reads the secrets."""

    def __init__(self, registry: Registry, roots: Roots, store: Store, host: Host) -> None:
        self._registry, self._roots = registry, roots
        self._store, self._host = store, host
        disk.remove(host.mounts)  # of instances that a kill ended

    async def launch(self, revision: Revision) -> launch.Launch:
        """Read anew for each instance: secrets that follow `latest`, and buckets."""
        if not self._registry.blob(revision.digest).exists():
            raise launch.CannotStart(f"Image '{revision.digest}' not found.")
        root = await self._roots.unpack(revision.digest)
        config = self._registry.config(revision.digest)
        mounts = await self._mounts(revision)
        try:
            env = self._environment(revision, mounts)
            return launch.prepare(origin_of(revision), root, config, revision.template, env, mounts)
        except BaseException:
            mounts.remove()
            raise

    async def _mounts(self, revision: Revision) -> Mounts:
        folder = self._host.mounts / uuid.uuid4().hex
        try:
            return await asyncio.to_thread(buckets.lay_out, self._store, folder, revision.template)
        except BaseException:
            disk.remove(folder)
            raise

    def _environment(self, revision: Revision, mounts: Mounts) -> dict[str, str]:
        """The declared variables with secrets read; CannotStart names the one that is missing."""
        container = launch.serving_container(revision.template)
        out = {}
        for row in container.get("env", []):
            reference = (row.get("valueSource") or {}).get("secretKeyRef")
            value = row.get("value", "")
            known = self._host.settings.secrets
            out[row["name"]] = secrets.read(known, reference) if reference else mounts.moved(value)
        return out


def origin_of(revision: Revision) -> Origin:
    """The revision by its four names."""
    return Origin(revision.project, revision.location, revision.service, revision.name)
