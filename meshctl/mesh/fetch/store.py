"""Keeps the fetched payloads of a mesh: brought when they are needed, as long as there is room."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from meshctl.errors import Unreachable
from meshctl.mesh.fetch.cache import Kept, making_room
from meshctl.mesh.fetch.child import Wrong
from meshctl.mesh.fetch.ours import ENDING, is_ours, remove, sha256_of
from meshctl.mesh.launch import Launch, Source
from meshctl.mesh.log import Log
from meshctl.mesh.turns import LaunchEngine, Running
from meshctl.mesh.waiting import QueueFull, Told, Waiting
from meshctl.quantities import show_bytes

Bring = Callable[[Launch], Awaitable[None]]
"""Puts every file of a launch in its place, proved. Raises Unreachable with the reason."""

WRONG_S = 600.0
"""A source that has other bytes than were declared is not asked again before: each time costs the
whole payload, and somebody has to mend it first."""
RETRY_S = 30
"""When to ask again, of those who may not wait for a fetch."""


class NoRoom(Unreachable):
    """The cache is full of what live engines use."""


class Payloads:
    """The payloads that this mesh fetches into one folder; an engine keeps its own there."""

    def __init__(
        self,
        launches: Iterable[Launch],
        folder: Path,
        limit: int | None,
        bring: Bring,
        log: Log,
        queue: int,
    ) -> None:
        launches = tuple(launches)
        self._bytes = {
            launch.payload: sum(source.bytes for source in launch.sources)
            for launch in launches
            if launch.sources
        }
        self._folder, self._limit, self._bring, self._log = folder, limit, bring, log
        self._queue, self._waiting = queue, 0
        self._users: Counter[str] = Counter()
        self._waited_for: Counter[str] = Counter()
        self._loading: set[str] = set()
        spared = {launch.payload for launch in launches if not launch.sources}
        self._kept = {one.name: one for one in found_in(folder, self._bytes, spared)}
        self._proved: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, tuple[float, Unreachable]] = {}
        self._clearing = asyncio.Lock()

    async def ensure(self, launch: Launch, told: Told) -> None:
        """Returns when the payload is there, proved.

        `told` hears that it has to be waited for. Raises Unreachable with the reason: NoRoom while
        engines use all the room, QueueFull where too many wait. A fetch goes on when those who wait
        for it leave.
        """
        if launch.sources and not self._is_there(launch):
            await self._wait(launch, told)
        self._note_use(launch)

    async def load(self, launch: Launch, start: LaunchEngine) -> Running:
        """The engine, its payload fetched first; the payload is kept until the engine was
        stopped. Raises what either of the two raises."""
        self._users[launch.payload] += 1
        try:
            await self._ensure_now(launch)
            return Leased(await start(launch), lambda: self._let_go(launch))
        except BaseException:
            self._let_go(launch)
            raise

    @contextmanager
    def wanted(self, launch: Launch) -> Iterator[None]:
        """While somebody waits for its model, no other request makes room at its cost.

        The lane may, which knows whose turn it is."""
        self._waited_for[launch.payload] += 1
        try:
            yield
        finally:
            self._waited_for[launch.payload] -= 1

    async def _ensure_now(self, launch: Launch) -> None:
        self._loading.add(launch.payload)
        try:
            await self.ensure(launch, _nobody)
        finally:
            self._loading.discard(launch.payload)

    def _let_go(self, launch: Launch) -> None:
        self._users[launch.payload] -= 1
        self._note_use(launch)

    def failed(self, launch: Launch) -> str | None:
        """Why the payload could not be fetched the last time; None where it could."""
        known = self._failed.get(launch.payload)
        return known[1].message if known else None

    async def stop(self) -> None:
        """Ends every fetch; what was fetched stays for the next mesh."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_there(self, launch: Launch) -> bool:
        """Proved by this process, and nobody took a file away since."""
        return launch.payload in self._proved and all(
            source.path.is_file() and source.path.stat().st_size == source.bytes
            for source in launch.sources
        )

    async def _wait(self, launch: Launch, told: Told) -> None:
        if self._waiting >= self._queue:
            raise QueueFull(launch.model, RETRY_S)
        self._waiting += 1
        try:
            told(Waiting("loading", 0))
            await _without_ending(self._task(launch))
        finally:
            self._waiting -= 1

    def _task(self, launch: Launch) -> asyncio.Task[None]:
        name = launch.payload
        if name not in self._tasks:
            task = asyncio.create_task(self._fetch(launch))
            task.add_done_callback(lambda done: self._done(name, done))
            self._tasks[name] = task
        return self._tasks[name]

    def _done(self, name: str, task: asyncio.Task[None]) -> None:
        del self._tasks[name]
        if not task.cancelled() and (error := task.exception()):
            self._log.say("error", str(error))  # also where nobody waits for it any more

    async def _fetch(self, launch: Launch) -> None:
        name = launch.payload
        known = self._failed.get(name)
        if known and isinstance(known[1], Wrong) and _now() < known[0] + WRONG_S:
            raise known[1]
        try:
            await self._make_room(launch)
            self._proved.discard(name)
            for source in launch.sources:
                _remove_outdated(source)
            await self._bring(launch)
        except NoRoom:
            raise
        except Unreachable as failed:
            self._failed[name] = (_now(), failed)
            raise
        self._failed.pop(name, None)
        self._proved.add(name)

    async def _make_room(self, launch: Launch) -> None:
        """Never beyond the limit: the place is taken before the first byte comes."""
        name = launch.payload
        async with self._clearing:
            for other in self._to_go(launch):
                self._proved.discard(other)
                self._log.say("info", f"payload {other} is removed, for room for {name}")
                await asyncio.to_thread(remove, self._folder / other)
                del self._kept[other]
            self._keep(name)

    def _to_go(self, launch: Launch) -> tuple[str, ...]:
        if self._limit is None:
            return ()
        others = [one for one in self._kept.values() if one.name != launch.payload]
        busy = {*self._tasks, *_positive(self._users)}
        if launch.payload not in self._loading:
            busy |= _positive(self._waited_for)
        gone = making_room(others, self._bytes[launch.payload], self._limit, busy)
        if gone is None:
            raise self._no_room(launch, others, busy)
        return gone

    def _no_room(self, launch: Launch, others: list[Kept], busy: set[str]) -> NoRoom:
        name = launch.payload
        used = ", ".join(one.name for one in others if one.name in busy) or "nothing"
        return NoRoom(
            f"the payload of {launch.model} needs {show_bytes(self._bytes[name])} of the cache of "
            f"{show_bytes(self._limit or 0)}, and in use are: {used}",
            hint="raise `cache:` of the service",
            place=launch.model,
        )

    def _note_use(self, launch: Launch) -> None:
        if launch.sources and launch.payload in self._kept:
            self._keep(launch.payload)

    def _keep(self, name: str) -> None:
        self._kept[name] = Kept(name, self._bytes[name], _now())


class Leased:
    """An engine whose payload is kept until it was stopped."""

    def __init__(self, engine: Running, release: Callable[[], None]) -> None:
        self._engine, self._release = engine, release

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._engine.url

    async def ended(self) -> str:
        """Waits for its unrequested end, and says how it came."""
        return await self._engine.ended()

    async def stop(self) -> None:
        """Ends it, and lets its payload go."""
        try:
            await self._engine.stop()
        finally:
            self._release()


async def _without_ending(task: asyncio.Task[None]) -> None:
    """Waits for it; a client that leaves ends its wait, not the fetch of others."""
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():  # not we, but the fetch
            raise Unreachable("the mesh is stopping") from None
        raise


def found_in(folder: Path, known: dict[str, int], spared: set[str]) -> list[Kept]:
    """What an earlier mesh left in the folder: our payloads, and others of which every file was
    fetched. Those that are `spared` are used, and were not brought by us."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        is_known = path.name in known or is_ours(path)
        if path.is_dir() and is_known and path.name not in spared:
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            found.append(Kept(path.name, max(size, known.get(path.name, 0)), 0.0))
    return found


def _remove_outdated(source: Source) -> None:
    """A file that an earlier release fetched under the same name. Whoever uses it keeps it open;
    what has no manifest of ours is not ours to remove."""
    known = sha256_of(source.path)
    if known and known != source.sha256:
        source.path.unlink(missing_ok=True)
        source.path.with_name(source.path.name + ENDING).unlink(missing_ok=True)


def _positive(counts: Counter[str]) -> set[str]:
    return {name for name, count in counts.items() if count > 0}


def _nobody(_: Waiting) -> None:
    """Hears nothing."""


def _now() -> float:
    return asyncio.get_running_loop().time()
