"""The instances of one revision: leased to requests, started on demand, stopped when idle."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from meshctl.emulator.serve.instance import Host, Instance
from meshctl.emulator.serve.launch import CannotStart, Launch

Release = Callable[[], None]
Gate = Callable[[], Release]  # raises CannotStart when one more may not be started
_PAUSE_WHEN_FULL_S = 1.0


class Overloaded(Exception):
    """No instance had room in time."""


class Pool:
    """Keeps `floor` instances warm and never runs more than `ceiling`."""

    def __init__(self, launch: Callable[[], Awaitable[Launch]], host: Host, gate: Gate) -> None:
        self._make_launch, self._host, self._gate = launch, host, gate
        self._launch: Launch | None = None
        self.instances: list[Instance] = []
        self.floor, self.ceiling, self.idle_s = 0, 100, math.inf
        self._starting: set[asyncio.Task[None]] = set()
        self._stopping: set[asyncio.Task[None]] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._retry_at, self._retry_pause, self._full_until = 0.0, 0.5, 0.0
        self._releases: dict[Instance, Release] = {}  # what each instance gives back when gone
        self._closed = False

    @property
    def size(self) -> int:
        """Instances running, starting and stopping."""
        return len(self.instances) + len(self._starting) + len(self._stopping)

    async def lease(self) -> Instance:
        """An instance with room; starts one when allowed. Overloaded, CannotStart."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._host.settings.queue_seconds
        while (instance := self._free()) is None:
            if self._wants_more():
                self._begin_start()
            # facts s4: over-demand queues, then 429; time spent starting does not count.
            if not self._starting and loop.time() >= deadline:
                raise Overloaded
            await self._turn(max(deadline - loop.time(), 0.05))
        instance.take()
        return instance

    def give(self, instance: Instance) -> None:
        """A request on this instance has ended."""
        instance.give()
        self._wake(1)

    def _free(self) -> Instance | None:
        rooms = [i for i in self.instances if i.serving and i.in_flight < i.launch.concurrency]
        return min(rooms, key=lambda i: i.in_flight, default=None)

    def _wants_more(self) -> bool:
        if self._closed:
            raise CannotStart("The revision is being removed.")
        room = self._launch.concurrency if self._launch else 1
        coming = len(self._starting)
        if self.instances and asyncio.get_running_loop().time() < self._full_until:
            return False  # refused a moment ago: over-demand waits for room, it does not hammer
        live = len(self.instances) + coming
        return live < max(self.ceiling, 1) and (not coming or len(self._waiting) >= coming * room)

    async def _turn(self, limit_s: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await asyncio.wait_for(future, limit_s)
        except TimeoutError:
            pass
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    def _wake(self, count: int, error: Exception | None = None) -> None:
        while count > 0 and self._waiting:
            future = self._waiting.pop(0)
            if future.done():
                continue
            count -= 1
            if error:
                future.set_exception(error)
            else:
                future.set_result(None)

    def _begin_start(self) -> None:
        task = asyncio.create_task(self._start_for_waiters())
        self._starting.add(task)

    async def _start_for_waiters(self) -> None:
        try:
            instance = await self._start()
        except CannotStart as err:
            self._leave_starting()
            self._full_until = asyncio.get_running_loop().time() + _PAUSE_WHEN_FULL_S
            if not self.instances:
                self._wake(len(self._waiting), err)
        else:
            self._leave_starting()
            self._wake(instance.launch.concurrency)

    def _leave_starting(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._starting.discard(task)

    async def _start(self) -> Instance:
        release = self._gate()
        try:
            # Anew for each: `latest` of a secret and a bucket are read when an instance starts.
            self._launch = launch = await self._make_launch()
            instance = Instance(launch, self._host)
        except BaseException:
            release()
            raise
        self._releases[instance] = release
        try:
            await instance.start(self._on_gone)
        except BaseException:
            self._give_back(instance)
            raise
        if self._closed:
            await instance.kill()
            raise CannotStart("The revision is being removed.")
        self.instances.append(instance)
        return instance

    def _give_back(self, instance: Instance) -> None:
        release = self._releases.pop(instance, None)
        if release is not None:
            release()
            instance.launch.clean_up()

    def _on_gone(self, instance: Instance) -> None:
        self._give_back(instance)
        if instance in self.instances:
            self.instances.remove(instance)
            self._wake(1)

    async def ensure(self, count: int) -> None:
        """Have at least so many ready instances now; CannotStart when one does not start."""
        missing = min(count, max(self.ceiling, 1)) - len(self.instances)
        if missing > 0:
            await asyncio.gather(*(self._start() for _ in range(missing)))

    async def tend(self) -> None:
        """Once in a while: bring back the floor, stop what idles above it."""
        loop = asyncio.get_running_loop()
        self._stop_idle(loop.time())
        short = self.floor - len(self.instances) - len(self._starting)
        if short > 0 and loop.time() >= self._retry_at and not self._closed:
            task = asyncio.create_task(self._refill(short))
            self._starting.add(task)

    async def _refill(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        born = loop.time()
        try:
            await asyncio.gather(*(self._start() for _ in range(count)))
            self._wake(len(self._waiting))
        except CannotStart:
            born = -math.inf
        finally:
            self._leave_starting()
        self._back_off(loop.time(), failed=born == -math.inf)

    def _back_off(self, now: float, failed: bool) -> None:
        """facts s3: minimum instances are best effort; one that keeps dying is retried slowly."""
        cap = self._host.settings.restart_backoff_cap_seconds
        self._retry_pause = min(self._retry_pause * 2, cap) if failed else 0.5
        self._retry_at = now + self._retry_pause

    def _stop_idle(self, now: float) -> None:
        for instance in list(self.instances):
            if len(self.instances) > max(self.ceiling, 1):
                self._retire(instance)  # the maximum was lowered
                continue
            spare = len(self.instances) > min(self.floor, self.ceiling)
            idle = instance.in_flight == 0 and now - instance.used_at >= self.idle_s
            if spare and idle:
                self._retire(instance)

    def _retire(self, instance: Instance) -> None:
        self.instances.remove(instance)
        cap = self._host.settings.drain_cap_seconds
        task = asyncio.create_task(instance.drain(min(instance.launch.timeout_s, cap)))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def close(self, drain_s: float | None = None) -> None:
        """Drain and stop everything; the pool starts nothing any more."""
        self._closed = True
        for task in list(self._starting):
            task.cancel()
        cap = self._host.settings.drain_cap_seconds
        limit = cap if drain_s is None else drain_s
        living, self.instances = self.instances, []
        await asyncio.gather(
            *self._starting,
            *self._stopping,
            *(i.drain(min(i.launch.timeout_s, limit)) for i in living),
            return_exceptions=True,
        )
