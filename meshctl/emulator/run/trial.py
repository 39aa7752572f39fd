"""The trial of a new revision: its image is resolved and one instance must get ready."""

from __future__ import annotations

import asyncio

from meshctl.emulator.failures import Failed
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.moment import now_us
from meshctl.emulator.run.records import FAILED, READY, Catalogue, Revision, Service
from meshctl.emulator.serve.launch import CannotStart, declared_port, serving_container
from meshctl.emulator.serve.serving import Serving


class Held(Exception):
    """An ordered fault keeps the newest revision from ever being decided."""


class Trial:
    """Decides once whether a revision is ready or failed."""

    def __init__(self, catalogue: Catalogue, registry: Registry, serving: Serving) -> None:
        self._catalogue, self._registry, self._serving = catalogue, registry, serving

    async def run(self, service: Service, revision: Revision) -> None:
        """Try a pending revision; it is ready or failed from then on. Raises Held."""
        if revision.held:
            raise Held
        try:
            self._resolve_images(revision)
            await self._as_ordered(revision)
            await self._start_once(service, revision)
        except Failed as failure:
            revision.state, revision.message = FAILED, failure.message
            revision.code, revision.reason = failure.code, failure.reason
            self._serving.drop_revision(revision)
        else:
            revision.state = READY
            service.latest_ready = self._newest_ready(service)
        revision.updated = now_us()
        self._catalogue.save_revision(service, revision)
        self._catalogue.save(service)

    @staticmethod
    def _newest_ready(service: Service) -> str:
        ready = [r for r in service.revisions.values() if r.state == READY]
        return max(ready, key=lambda r: r.created).name

    def _resolve_images(self, revision: Revision) -> None:
        """facts s1: images of a revision come back resolved to a digest."""
        for container in revision.template["containers"]:
            digest = self._registry.resolve(container["image"])
            if digest is None:
                # facts s5: LRO code 5 with this text.
                text = f"Image '{container['image']}' not found."
                raise Failed(5, text, {"reason": "CONTAINER_MISSING"})
            if container is serving_container(revision.template):
                revision.digest = digest
            container["image"] = f"{_repository(container['image'])}@{digest}"

    @staticmethod
    async def _as_ordered(revision: Revision) -> None:
        """An ordered fault: the revision fails after so long, as one that never listens."""
        if revision.unready_s is None:
            return
        await asyncio.sleep(revision.unready_s)
        port = declared_port(serving_container(revision.template))
        raise Failed(
            CannotStart.code,
            "The user-provided container failed to start and listen on the port defined provided "
            f"by the PORT={port} environment variable within the allocated timeout. "
            "(Fault ordered by a test.)",
            CannotStart.reason,
        )

    async def _start_once(self, service: Service, revision: Revision) -> None:
        if revision.template.get("healthCheckDisabled"):
            # facts s5: health_check_disabled skips the deploy check.
            revision.skipped_check = True
            return
        try:
            await self._serving.pool(service, revision).ensure(1)
        except CannotStart as err:
            raise Failed(err.code, err.told(revision.name), err.reason) from err


def _repository(image: str) -> str:
    """The image's repository, without tag and digest."""
    head, slash, last = image.split("@")[0].rpartition("/")
    return head + slash + last.split(":")[0]
