"""What serves: the fronts of services and tags, and the pools of their revisions."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import ClientSession, web

from meshctl.emulator import ports
from meshctl.emulator.logging.entries import REQUESTS
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.monitoring.counts import Counts
from meshctl.emulator.run import scaling, traffic
from meshctl.emulator.run.records import READY, Catalogue, Revision, Service
from meshctl.emulator.serve.done import Done
from meshctl.emulator.serve.exchange import upstream_session
from meshctl.emulator.serve.front import Front, Share, Split
from meshctl.emulator.serve.instance import Host
from meshctl.emulator.serve.pool import Pool
from meshctl.emulator.serve.preparation import Preparation, origin_of

_TEND_S = 0.5
_TRIES = 5
Guard = Callable[[Service, web.BaseRequest], "tuple[int, str] | None"]


class Serving:
    """Owns every front and every pool; `route` makes a service's split the current one."""

    def __init__(
        self,
        catalogue: Catalogue,
        preparation: Preparation,
        host: Host,
        counts: Counts,
        guard: Guard,
    ) -> None:
        self._catalogue, self._preparation = catalogue, preparation
        self._host, self._counts, self._guard = host, counts, guard
        self._pools: dict[str, Pool] = {}
        self._fronts: dict[tuple[str, str], Front] = {}
        self._session: ClientSession | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._tender: asyncio.Task[None] | None = None
        self.rng = random.Random(host.settings.seed)
        # The hook for quotas: asked before each start, CannotStart refuses it; what it returns is
        # called when the instance is gone.
        self.gate: Callable[[Revision], Callable[[], None]] = lambda revision: lambda: None

    async def start(self) -> None:
        """Open the fronts of what is remembered and begin to tend the pools."""
        self._session = upstream_session()
        for service in self._catalogue.services.values():
            await self.route(service)
        self._tender = asyncio.create_task(self._tend())

    async def _tend(self) -> None:
        while True:
            for pool in list(self._pools.values()):
                await pool.tend()
            self.sample()
            self._counts.save_if_due()
            await asyncio.sleep(_TEND_S)

    def sample(self) -> None:
        """Write down how many instances each revision has now, busy and idle."""
        for service in self._catalogue.services.values():
            for revision in service.revisions.values():
                pool = self._pools.get(revision.full_name)
                if pool is not None:
                    busy = sum(1 for instance in pool.instances if instance.in_flight)
                    idle = len(pool.instances) - busy
                    self._counts.instances(origin_of(revision), busy, idle)

    @property
    def instances(self) -> int:
        """Instances running, starting or stopping, of all revisions."""
        return sum(pool.size for pool in self._pools.values())

    def warm(self, revision: Revision) -> int:
        """Ready instances of a revision."""
        pool = self._pools.get(revision.full_name)
        return len(pool.instances) if pool else 0

    def pool(self, service: Service, revision: Revision) -> Pool:
        """The revision's pool, made when first asked for."""
        pool = self._pools.get(revision.full_name)
        if pool is None:
            pool = Pool(
                lambda: self._preparation.launch(revision), self._host, lambda: self.gate(revision)
            )
            self._pools[revision.full_name] = pool
            self._set_limits(service, revision, pool)
        return pool

    def rows(self, service: Service) -> scaling.Rows:
        """What the displayed traffic resolves to."""
        return traffic.resolve(service.statuses, service.latest_ready or None)

    def floor(self, service: Service, revision: Revision) -> int:
        """Instances kept warm for a revision under the displayed traffic."""
        return self.floor_under(self.rows(service), service, revision)

    @staticmethod
    def floor_under(rows: scaling.Rows, service: Service, revision: Revision) -> int:
        """Instances kept warm for a revision under some split."""
        if revision.state != READY:
            return 0
        own = revision.template.get("scaling", {})
        return scaling.floor(service.spec.get("scaling", {}), own, revision.name, rows)

    def _set_limits(self, service: Service, revision: Revision, pool: Pool) -> None:
        rows, settings = self.rows(service), self._host.settings
        own = revision.template.get("scaling", {})
        pool.ceiling = scaling.ceiling(service.spec.get("scaling", {}), own, revision.name, rows)
        pool.floor = self.floor_under(rows, service, revision)
        listed = any(name == revision.name for name, _, _ in rows)
        pool.idle_s = settings.idle_seconds if listed else settings.retired_idle_seconds

    async def open(self, service: Service) -> None:
        """Listen on the service's own port, whether anything serves yet or not."""
        await self._front(service, "")

    async def route(self, service: Service) -> None:
        """Make the displayed traffic the one that serves: each split is one assignment."""
        tags = {row[2] for row in self.rows(service) if row[2]}
        for tag in ["", *sorted(tags)]:
            front = await self._front(service, tag)
            front.split = self._split(service, tag)
        for key in [k for k in self._fronts if k[0] == service.name and k[1]]:
            if key[1] not in tags:
                await self._drop_front(key)
        for revision in service.revisions.values():
            if self.floor(service, revision) or revision.full_name in self._pools:
                self._set_limits(service, revision, self.pool(service, revision))

    async def _drop_front(self, key: tuple[str, str]) -> None:
        front = self._fronts.pop(key)
        await front.stop_listening()
        self._later(front.close(self._host.settings.drain_cap_seconds))

    def _split(self, service: Service, tag: str) -> Split:
        shares = []
        for name, percent, row_tag in self.rows(service):
            revision = service.revisions.get(name)
            weight = 100 if tag else percent
            if revision and revision.state == READY and (row_tag == tag if tag else percent):
                pool = self.pool(service, revision)
                timeout_s = float(revision.template["timeout"].rstrip("s"))
                shares.append(Share(name, weight, pool, timeout_s))
        return tuple(shares)

    async def _front(self, service: Service, tag: str) -> Front:
        front = self._fronts.get((service.name, tag))
        if front is None:
            front = await self._open_front(service, tag)
            self._fronts[service.name, tag] = front
        return front

    async def _open_front(self, service: Service, tag: str) -> Front:
        """Listen on the remembered port, or on a new one where a stranger has taken it."""
        assert self._session is not None

        def guard(request: web.BaseRequest) -> tuple[int, str] | None:
            """Ask for the service as it stands when the request comes."""
            return self._guard(service, request)

        for _ in range(_TRIES):
            port = self._port(service, tag)
            front = Front(port, self._session, guard, self._recorder(service), self.rng)
            try:
                await front.open()
                return front
            except OSError:  # taken since we looked
                await front.close(0)
        raise OSError(f"no port for {service.name} {tag}")

    def _recorder(self, service: Service) -> Callable[[Done], None]:
        """What is remembered of each request that reached a revision."""

        def record(done: Done) -> None:
            origin = Origin(service.project, service.location, service.id, done.revision)
            self._counts.request(origin, done.status)
            if self._host.settings.log_requests:
                self._host.entries.write(origin, REQUESTS, [done.entry()])

        return record

    def _port(self, service: Service, tag: str) -> int:
        """The remembered port while it is free, else a new one that depends on the names."""
        port = service.ports.get(tag)
        if port is None or not ports.is_free(port):
            low, high = self._host.settings.port_low, self._host.settings.port_high
            key = f"{self._host.metadata_host} {service.name} {tag}"
            service.ports[tag] = port = ports.pick(low, high, self._catalogue.ports(), key)
            self._catalogue.save(service)
        return port

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def drop_revision(self, revision: Revision) -> None:
        """Drain and stop a revision's instances; it starts none any more."""
        pool = self._pools.pop(revision.full_name, None)
        if pool is not None:
            self._later(pool.close())

    async def drop(self, service: Service) -> None:
        """Stop listening for a service; requests in flight and instances drain afterwards."""
        for key in [k for k in self._fronts if k[0] == service.name]:
            await self._drop_front(key)
        for revision in service.revisions.values():
            self.drop_revision(revision)

    async def close(self) -> None:
        """Stop everything: listen no more, finish what is in flight, stop the children."""
        if self._tender is not None:
            self._tender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._tender
        limit = self._host.settings.shutdown_drain_seconds
        await asyncio.gather(*(front.close(limit) for front in self._fronts.values()))
        self._fronts.clear()
        for task in self._closing:
            task.cancel()
        pools, self._pools = list(self._pools.values()), {}
        await asyncio.gather(*(pool.close(0.0) for pool in pools))
        if self._session is not None:
            await self._session.close()
        self._counts.save()
