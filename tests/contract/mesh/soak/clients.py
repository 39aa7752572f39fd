"""Clients that ask for random models, and some of which go away in the middle."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.contract.mesh.soak.laws import Breach, Heard, Kind, Request, judge
from tests.contract.mesh.soak.talking import Talk
from tests.fakes.counting_model import WORDS

STUCK_S = 120.0
"""No request may take longer: the longest pause of a crashing engine is 30 s."""
THINKS_S = 0.4


@dataclass
class Record:
    """What all clients saw together."""

    seen: Counter[tuple[str, Kind]] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def count(self, kind: Kind) -> int:
        return sum(number for (_, seen), number in self.seen.items() if seen == kind)

    def __str__(self) -> str:
        kinds = ", ".join(f"{m} {kind} {n}" for (m, kind), n in sorted(self.seen.items()))
        return f"{kinds}; the slowest took {self.slowest_s:.1f} s; breaches: {self.breaches[:5]}"


@dataclass(frozen=True)
class Habit:
    """How a client reads: it may leave after a while, or be slow."""

    leaves_s: float | None = None
    reads_every_s: float = 0.0


class Client:
    """One client, which asks until it is told to stop."""

    def __init__(self, url: str, models: Sequence[str], seed: str, record: Record) -> None:
        self._url = url
        self._models = models
        self._random = random.Random(seed)
        self._record = record

    async def live(self, until: asyncio.Event) -> None:
        """Asks one request after the other; who was refused asks again a little later."""
        while not until.is_set():
            kind = await self._once()
            thinks_s = THINKS_S * (5 if kind == "refused" else 1)
            await asyncio.sleep(self._random.uniform(0, thinks_s))

    async def _once(self) -> Kind | None:
        chance = self._random
        request = Request(
            chance.choice(self._models), chance.randint(1, WORDS + 20), chance.random() < 0.7
        )
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(STUCK_S):
                kind = judge(request, await self._ask(request, self._habit()))
            self._record.seen[request.model, kind] += 1
            return kind
        except TimeoutError:
            self._record.breaches.append(f"{request} got no end within {STUCK_S:.0f} s")
        except Breach as breach:
            self._record.breaches.append(str(breach))
        finally:
            took_s = asyncio.get_running_loop().time() - began
            self._record.slowest_s = max(self._record.slowest_s, took_s)
        return None

    def _habit(self) -> Habit:
        kind = self._random.random()
        if kind < 0.2:
            return Habit(leaves_s=self._random.random() * self._random.choice((0, 0.05, 0.2, 1)))
        return Habit(reads_every_s=0.02) if kind < 0.3 else Habit()

    async def _ask(self, request: Request, habit: Habit) -> Heard:
        """All that comes until the end, or until the client leaves."""
        talk = Talk()
        try:
            async with asyncio.timeout(habit.leaves_s) as leaving:
                await talk.hold(self._url, body_of(request), habit.reads_every_s)
        except TimeoutError:
            if not leaving.expired():
                raise
        return talk.heard()


def body_of(request: Request) -> dict[str, object]:
    """The request as clients send it."""
    return {
        "model": request.model,
        "messages": [{"role": "user", "content": "Count."}],
        "max_tokens": request.words,
        "temperature": 0,
        "stream": request.stream,
    }
