"""Reconciliation: a wish becomes a checked revision, a serving split, an operation's end."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from typing import Any

from meshctl.emulator.failures import Failed
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.moment import now_us
from meshctl.emulator.operations import Operations
from meshctl.emulator.run import limits, traffic, view
from meshctl.emulator.run.records import (
    FAILED,
    PENDING,
    READY,
    Catalogue,
    Outcome,
    Revision,
    Service,
)
from meshctl.emulator.run.schema import LATEST
from meshctl.emulator.run.trial import Held, Trial
from meshctl.emulator.serve.launch import CannotStart
from meshctl.emulator.serve.serving import Serving
from meshctl.emulator.settings import Settings

OK, BAD = "CONDITION_SUCCEEDED", "CONDITION_FAILED"


@dataclass(frozen=True)
class Wish:
    """What one request asked for: a generation with its traffic, and the operation to end."""

    service: Service
    generation: int
    traffic: list[dict[str, Any]]
    revision: Revision | None
    operation: str | None


class Reconciler:
    """Works on the wishes of each service in the order they came."""

    def __init__(
        self,
        catalogue: Catalogue,
        registry: Registry,
        serving: Serving,
        operations: Operations,
        settings: Settings,
    ) -> None:
        self._catalogue, self._serving = catalogue, serving
        self._operations, self._settings = operations, settings
        self._trial = Trial(catalogue, registry, serving)
        self._turns: dict[str, asyncio.Lock] = {}
        self._tasks: dict[asyncio.Task[None], str] = {}

    def submit(self, wish: Wish) -> None:
        """Begin to work on a wish; the operation ends later."""
        task = asyncio.create_task(self._work(wish))
        self._tasks[task] = wish.service.uid
        task.add_done_callback(lambda t: self._tasks.pop(t, None))

    def resume(self) -> None:
        """After a restart: go on with what was being worked on; its operations have failed."""
        for service in self._catalogue.services.values():
            for revision in service.revisions.values():
                if revision.state == PENDING and revision.name != service.latest_created:
                    rows = copy.deepcopy(service.statuses)
                    self.submit(Wish(service, revision.generation, rows, revision, None))
            if service.reconciling:
                newest = service.revisions.get(service.latest_created)
                rows = copy.deepcopy(service.spec["traffic"])
                self.submit(Wish(service, service.generation, rows, newest, None))

    async def abandon(self, service: Service) -> None:
        """The service is being deleted: stop working on it."""
        tasks = [task for task, uid in self._tasks.items() if uid == service.uid]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._turns.pop(service.uid, None)

    async def close(self) -> None:
        """Stop all work; what is unfinished is resumed at the next start."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, wish: Wish) -> None:
        service = wish.service
        async with self._turns.setdefault(service.uid, asyncio.Lock()):
            try:
                await self._carry_out(wish)
            except Held:
                return  # reconciling, and its operation not done, for as long as nobody acts
            except Failed as failure:
                self._settle(wish, failure)
                await self._finish(wish, failure)
            except Exception as err:
                broken = Failed(13, f"Internal error: {err!r}", {"reason": "INTERNAL"})
                self._settle(wish, broken)
                await self._finish(wish, broken)
                raise
            else:
                await self._finish(wish, view.service(service))

    async def _finish(self, wish: Wish, outcome: dict[str, Any] | Failed) -> None:
        if wish.operation is None:
            return
        if isinstance(outcome, dict):
            outcome = {"@type": view.SERVICE_TYPE, **outcome}
        await self._operations.finish(wish.operation, outcome)

    async def _carry_out(self, wish: Wish) -> None:
        service = wish.service
        # The URL is known from the first moment; without a ready revision it answers 404.
        await self._serving.open(service)
        if wish.revision is not None and wish.revision.state == PENDING:
            await self._trial.run(service, wish.revision)
        self._newest_must_be_ready(wish)
        self._configured(wish)
        await self._shift(wish)
        self._settle(wish, None)
        self._heal(service)

    def _newest_must_be_ready(self, wish: Wish) -> None:
        """A failed newest revision fails its own update and every later one that follows LATEST."""
        service = wish.service
        newest = wish.revision or service.revisions.get(service.latest_created)
        if newest is None or not (newest.held or newest.state == FAILED):
            return
        follows = any(row["type"] == LATEST for row in wish.traffic)
        if newest.held and follows:
            raise Held
        # facts s2: --to-latest after a failed deploy fails with the failed revision's error.
        if newest.state == FAILED and (wish.revision is not None or follows):
            self._blame(service.configurations, newest)
            raise Failed(newest.code, newest.message, newest.reason)

    def _heal(self, service: Service) -> None:
        """Pins apart from a failed newest revision: Ready or not is open, hence a setting."""
        newest = service.revisions.get(service.latest_created)
        if newest and newest.state == FAILED and not self._settings.pinned_traffic_heals:
            self._blame(service.ready, newest)
            self._catalogue.save(service)
            raise Failed(newest.code, newest.message, newest.reason)

    @staticmethod
    def _blame(outcome: Outcome, revision: Revision) -> None:
        outcome.state, outcome.message = BAD, revision.message
        outcome.reason, outcome.since = revision.reason, now_us()

    def _configured(self, wish: Wish) -> None:
        newest = wish.service.revisions.get(wish.service.latest_created)
        if newest and newest.state == READY:
            wish.service.configurations = Outcome(OK, since=now_us())

    async def _shift(self, wish: Wish) -> None:
        """Make the wished traffic the displayed one; on any failure the old one stays."""
        service = wish.service
        rows = traffic.resolve(wish.traffic, service.latest_ready or None)
        for name, _, _ in rows:
            self._must_serve(service, name)
        await self._warm_up(service, rows)
        service.statuses = copy.deepcopy(wish.traffic)
        await self._serving.route(service)

    @staticmethod
    def _must_serve(service: Service, name: str) -> None:
        revision = service.revisions.get(name)
        if revision is None:
            # facts s2: Knative's RevisionMissing; the cloud's own wording is unknown.
            text = f"Revision '{name}' referenced in traffic not found."
            raise Failed(5, text, {"reason": "REVISION_FAILED"})
        if revision.state != READY:
            raise traffic.not_ready(name, revision.message, revision.reason)

    async def _warm_up(self, service: Service, rows: list[tuple[str, int, str]]) -> None:
        """With minimum instances a shift waits for a ready one of every target (facts s2)."""
        for name in {row[0] for row in rows}:
            revision = service.revisions[name]
            if not self._serving.floor_under(rows, service, revision):
                continue
            try:
                await self._serving.pool(service, revision).ensure(1)
            except CannotStart as err:
                raise traffic.not_ready(name, str(err), err.reason, err.code) from err

    def _settle(self, wish: Wish, failure: Failed | None) -> None:
        """Write down how it ended; facts s1: on failure observedGeneration stays behind."""
        service, now = wish.service, now_us()
        if failure is None:
            service.observed = max(service.observed, wish.generation)
            service.routes = Outcome(OK, since=now)
            state = Outcome(OK, since=now)
        else:
            state = Outcome(BAD, failure.message, failure.reason, now)
            self._settle_parts(wish, state, now)
        if wish.generation == service.generation:
            service.ready = state
        self._catalogue.save(service)
        for name in limits.surplus_revisions(service, self._settings.revisions_per_service):
            self._serving.drop_revision(service.revisions[name])
            self._catalogue.drop_revision(service, name)

    @staticmethod
    def _settle_parts(wish: Wish, state: Outcome, now: int) -> None:
        """Which of the two parts is to blame: the new revision, or the routes."""
        service = wish.service
        newest_failed = wish.revision is not None and wish.revision.state == FAILED
        if newest_failed:
            service.configurations = copy.copy(state)
        routed = bool(service.statuses) and newest_failed
        service.routes = Outcome(OK, since=now) if routed else copy.copy(state)
        if service.configurations.state == "CONDITION_RECONCILING":
            service.configurations = Outcome(OK, since=now)
