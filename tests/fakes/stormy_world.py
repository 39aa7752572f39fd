"""The world of fake_ground.py with the real Cloud Run target in it, and bad weather over all of it.

world = StormyWorld(seed=7)
world.serve("1", "2")          # in calm weather
world.breaks_loose(0.3)
outcome = world.deploy("3")
"""

from __future__ import annotations

import copy
import itertools
import random
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from meshctl.errors import Unreachable
from meshctl.outside.http import Request, Response
from meshctl.outside.objects import Stored
from meshctl.rollout.ground import Ground
from meshctl.state.journal import Event
from meshctl.targets.cloudrun.target import CloudRunTarget
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import FakeEngines, FakeTarget
from tests.fakes.memory_store import Died, MemoryStore, MortalStore
from tests.fakes.stormy_cloud import StormyCloud, Weather

STORE_FAILS = 0.003
"""The store asks again by itself (objects_bucket.py), so that what it still cannot tell is rare."""


class StormyStore:
    """A state store that now and then cannot tell what came of a call, for ever."""

    at_once = 1

    def __init__(self, inner: MemoryStore, weather: Weather, chance: float) -> None:
        self.inner, self.weather, self.chance = inner, weather, chance
        self.dead = False

    def read(self, key: str) -> Stored | None:
        self._strike("before", f"read {key}")
        return self.inner.read(key)

    def list(self, prefix: str) -> list[str]:
        self._strike("before", f"list {prefix}")
        return self.inner.list(prefix)

    def create(self, key: str, data: bytes) -> str | None:
        self._strike("before", f"create {key}")
        made = self.inner.create(key, data)
        self._strike("after", f"create {key}")
        return made

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        self._strike("before", f"replace {key}")
        made = self.inner.replace(key, data, generation)
        self._strike("after", f"replace {key}")
        return made

    def delete(self, key: str, generation: str) -> bool:
        self._strike("before", f"delete {key}")
        return self.inner.delete(key, generation)

    def _strike(self, side: str, call: str) -> None:
        if self.dead:
            raise Died
        if self.weather.dice.random() < self.chance:
            self.weather.told.append(f"state: {call} is lost {side} it was done")
            raise Unreachable("the state store does not answer", place="state")


class StormyEngines(FakeEngines):
    """The engines behind the cloud's addresses, and the place where tokens come from."""

    def __init__(self, cloud: StormyCloud) -> None:
        super().__init__(_Behaviours())
        self.api = cloud
        self.chance = 0.0

    def send(self, request: Request, *, timeout_s: float) -> Response:
        if request.url.endswith(":generateIdToken"):
            return self._token(request)
        if self.api.weather.dice.random() < self.chance:
            self.api.weather.told.append(f"{request.method} {request.url}: cut")
            raise Unreachable("connection reset", place=request.url)
        return super().send(request, timeout_s=timeout_s)

    def _token(self, request: Request) -> Response:
        struck = self.api.weather.strike("token", ("503", "cut"))
        if struck == "cut":
            raise Unreachable("connection reset", place=request.url)
        body: Any = request.body
        service = (urlsplit(body["audience"]).hostname or "").removesuffix(".fake")
        told = f'{{"token": "token-{service}"}}'.encode()
        return Response(200 if struck is None else 503, {}, told, 0.1)

    def _front(self, request: Request) -> tuple[int, dict[str, str], str]:
        host = (urlsplit(request.url).hostname or "").removesuffix(".fake")
        tag, _, service = host.rpartition("---")
        self.asked.append(host)
        name = self._behind(service, tag)
        if name is None:
            return 404, {}, ""
        token = request.headers.get("Authorization")
        if not self.api.is_public(service) and token != f"Bearer token-{service}":
            return 403, {}, ""
        release = self.api.variables(service, name).get("MESH_RELEASE", "")
        said = "r-somebody-else" if self.cloud.behaviour(release) == "liar" else release
        return (503 if self._unclear(tag, release) else 200), {"x-mesh-release": said}, release

    def _behind(self, service: str, tag: str) -> str | None:
        if tag:
            return self.api.tags(service).get(tag)
        shares = self.api.split(service)
        turn = self._turn[""] = self._turn.get("", -1) + 37
        place = turn % max(1, sum(shares.values()))
        for name, share in sorted(shares.items()):
            if place < share:
                return name
            place -= share
        return None


class _Behaviours(FakeTarget):
    """Only what behaves how; the services are the cloud's."""


class StormyWorld(World):
    """One service `chat` on the real target over the stormy cloud; every verb is a process."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weather = Weather(random.Random(seed))
        self.api = StormyCloud(self.clock, self.weather)
        self.engines = StormyEngines(self.api)
        self.behave = self.engines.cloud.behave
        self.http = self.engines
        self.told_knowing = 0
        self.store = self.stormy = StormyStore(self.memory, self.weather, 0.0)

    def breaks_loose(self, chance: float, *, http: float, store: float = STORE_FAILS) -> None:
        """From now on, calls are struck."""
        self.weather.chance, self.engines.chance = chance, http
        self.stormy.chance = store

    def dies_at_a_write(self, when: str) -> None:
        """The next process dies round its N-th write of the state, as MortalStore says."""
        self.weather.told.append(f"the process dies {when} of its writes of the state")
        self.store = MortalStore(self.store, when)

    def dies(self, _: StormyCloud) -> None:
        """The process ends at this very call: it lets go of nothing."""
        self.weather.told.append("the process dies")
        self.stormy.dead = True
        raise Died

    def is_stopped(self, _: StormyCloud) -> None:
        """A first or a second signal."""
        self.weather.told.append("a signal")
        self.interrupts.count += 1

    def lives_again(self) -> None:
        """A new process begins."""
        self.store, self.stormy.dead = self.stormy, False
        self.interrupts.count = 0

    def calms_down(self) -> None:
        """The weather is good, and whatever was on its way has arrived or failed."""
        self.weather.chance = self.engines.chance = self.stormy.chance = 0.0
        self.api.plagues.clear()
        self.api.ambushes.clear()
        self.lives_again()
        self.clock.advance(6000)

    def ground(self) -> Ground:
        target = CloudRunTarget(
            "local", self.api, self.http, self.clock, jitter=self.weather.dice.random
        )
        return replace(super().ground(), target=target)

    def copied(self, seed: int) -> StormyWorld:
        """Another world that has come to the same point, for storms of its own."""
        other = StormyWorld(seed)
        other.memory.objects = dict(self.memory.objects)
        other.memory._generation = self.memory._generation
        other.api.inner = copy.deepcopy(self.api.inner)
        other._salts = itertools.count(50)
        other.clock.advance(self.clock.monotonic())
        return other

    def _saw(self, event: Event) -> None:
        if event.kind in ("closed", "paused"):
            self.told_knowing = self.api.known_strangers
        self.follow(event)
