"""Owns the engines of one mesh: which is loaded, who has a turn, and how all of them end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from meshctl.mesh.fetch.store import NoRoom, Payloads
from meshctl.mesh.lane import Rules
from meshctl.mesh.launch import Launch
from meshctl.mesh.log import Log
from meshctl.mesh.metrics import Metrics
from meshctl.mesh.turns import Check, LaunchEngine, Running, Turns
from meshctl.mesh.waiting import Stays, Told, Waiting


def _anything(_: Launch) -> None:
    """Takes every engine for one that can be started."""


class Supervisor:
    """Every local model, each in the lane of its group; groups know nothing of each other."""

    def __init__(
        self,
        launches: Iterable[Launch],
        launch_engine: LaunchEngine,
        log: Log,
        rules: Rules = Rules(),
        check: Check = _anything,
        metrics: Metrics | None = None,
        payloads: Payloads | None = None,
    ) -> None:
        self._check, self._payloads = check, payloads
        metrics = metrics or Metrics()
        groups: dict[str, list[Launch]] = {}
        for launch in launches:
            groups.setdefault(launch.group, []).append(launch)
        self._launches = {launch.model: launch for group in groups.values() for launch in group}
        self._turns: dict[str, Turns] = {}
        for group in groups.values():
            turns = Turns(group, launch_engine, log, rules, check, metrics)
            self._turns |= dict.fromkeys((launch.model for launch in group), turns)

    def begin(self, model: str) -> None:
        """Loads a model without waiting for it, if nothing has to go for it."""
        self._turns[model].want(model)

    def begin_pinned(self) -> None:
        """Loads every pinned model that is not loaded yet."""
        for model, launch in self._launches.items():
            if launch.member.pinned:
                self.begin(model)

    def turn(self, model: str, told: Told) -> AbstractAsyncContextManager[Running]:
        """The running engine, kept for the caller until the context is left.

        `told` hears where the request stands, first of all before the first wait; it is not called
        when there is none. QueueFull, and Unreachable with the reason, come before it where they
        can be known; Unreachable may also end the wait. A caller that is cancelled frees its place.
        While it has its turn no other model is loaded in this one's place, even if the engine
        crashes; `engine` then says which one came after it.
        """
        turns = self._turns[model]
        if self._payloads and not self.engine(model) and self._launches[model].sources:
            return self._after_fetch(self._payloads, turns, model, told)
        return turns.turn(model, told)

    @asynccontextmanager
    async def _after_fetch(
        self, payloads: Payloads, turns: Turns, model: str, told: Told
    ) -> AsyncIterator[Running]:
        """Only who can be loaded joins the queue: nobody is unloaded for a model that is still on
        its way, which may take minutes; but where its room has to come from an engine's payload."""
        launch = self._launches[model]
        self._check(launch)
        with payloads.wanted(launch):
            with suppress(NoRoom):
                await payloads.ensure(launch, told)
            async with turns.turn(model, told) as engine:
                yield engine

    async def ready(self, model: str) -> Running:
        """The engine, as soon as the model has a turn, which is given back at once. Raises
        Unreachable with the reason."""
        async with self.turn(model, _nobody) as engine:
            return engine

    async def unload(self, models: Iterable[str]) -> dict[str, Stays | None]:
        """Ends the engines that nobody needs, and says of each other one why it stays.

        Returns when nothing is left of them: what their models held of the card is free.
        """
        names = list(models)
        stays = await asyncio.gather(*(self._turns[name].unload(name) for name in names))
        return dict(zip(names, stays, strict=True))

    def resident(self, model: str) -> bool:
        """The engine of the model is loaded, and requests for the model go to it."""
        return self.engine(model) is not None

    def engine(self, model: str) -> Running | None:
        """The engine of the model at this moment; after a crash it is another than before."""
        return self._turns[model].engine(model)

    def returns(self, model: str) -> bool:
        """The engine crashed once and is on its way back; false when it crashed again meanwhile."""
        return self._turns[model].returns(model)

    def down(self, model: str) -> str | None:
        """Why a request for the model would be refused; None when it is served, or may wait."""
        return self._turns[model].down(model)

    def failed(self, model: str) -> str | None:
        """Why the model cannot be loaded, as far as is known; None while it is."""
        if self.engine(model):
            return None
        fetched = self._payloads.failed(self._launches[model]) if self._payloads else None
        return fetched or self.down(model)

    async def stop(self) -> None:
        """Ends every fetch and every engine, all at the same time."""
        if self._payloads:
            await self._payloads.stop()
        await asyncio.gather(*(turns.stop() for turns in set(self._turns.values())))


def _nobody(_: Waiting) -> None:
    """Hears nothing."""
