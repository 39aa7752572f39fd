"""Asks an endpoint the questions of a workload, one at a time, and records the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from meshctl.bench.counters import Counters
from meshctl.bench.endpoint import Endpoint
from meshctl.bench.session import Session, Shot
from meshctl.bench.workload import Ask, Workload
from meshctl.outside.http import Http
from meshctl.outside.streams import Streams

AGREE = 0.1
"""Two answers of the warm-up that differ by less are as long as each other."""
WARM_UPS = 6
TIMEOUT_S = 600.0
"""Longest wait for one answer: some hundred tokens of a large model on a small machine."""


@dataclass(frozen=True)
class Doors:
    """What a bench needs of the outside; `seed` keeps its prompts apart from those of any other."""

    streams: Streams
    http: Http
    seed: str
    note: Callable[[str], None] = lambda text: None


def bench(
    endpoint: Endpoint,
    workload: Workload,
    doors: Doors,
    provenance: Mapping[str, str | float | None] | None = None,
) -> Session:
    """One session of one endpoint."""
    return bench_both((endpoint,), workload, doors, provenance)[0]


def bench_both(
    endpoints: tuple[Endpoint, ...],
    workload: Workload,
    doors: Doors,
    provenance: Mapping[str, str | float | None] | None = None,
) -> tuple[Session, ...]:
    """A session of each, each question asked of all in turn, and in the other order the next time:
    what changes over an hour then strikes all of them."""
    warm = [_warmed(_Asking(e, doors, f"{n}"), workload.warm()) for n, e in enumerate(endpoints)]
    alone = len({endpoint.url for endpoint in endpoints}) == len(endpoints)
    before = [_counters(endpoint, doors, alone) for endpoint in endpoints]
    shots: list[list[Shot]] = [[*answers] for answers, _ in warm]
    askings = [_Asking(endpoint, doors, f"{n}") for n, endpoint in enumerate(endpoints)]
    turns = list(workload.turns())
    for number, ask in enumerate(turns):
        doors.note(f"question {number + 1} of {len(turns)}: {ask.kind}")
        for which in _order(len(endpoints), ask.repeat):
            shots[which].append(askings[which].shot(ask, f"{number}"))
    return tuple(
        Session(
            workload=workload,
            shots=tuple(shots[n]),
            steady=warm[n][1],
            before=before[n],
            after=_counters(endpoint, doors, alone),
            provenance={**_of(endpoint), **(provenance or {})},
        )
        for n, endpoint in enumerate(endpoints)
    )


@dataclass(frozen=True)
class _Asking:
    """One endpoint, whose prompts are like those of no other."""

    endpoint: Endpoint
    doors: Doors
    name: str

    def shot(self, ask: Ask, number: str) -> Shot:
        request = self.endpoint.request(ask, f"{self.doors.seed}.{self.name}.{ask.kind}.{number}")
        batch = self.doors.streams.capture([request], timeout_s=TIMEOUT_S)
        return Shot(ask, batch.captures[0], batch.took_s, batch.wall_s, batch.cpu_s)


def _warmed(asking: _Asking, ask: Ask) -> tuple[list[Shot], bool]:
    """Answers until two in a row took as long, and whether they did: the first ones of an engine
    wait for kernels to be compiled and pages to be read."""
    shots: list[Shot] = []
    for number in range(WARM_UPS):
        shots.append(asking.shot(ask, f"{number}"))
        if shots[-1].reply.error:  # what is wrong shows in the answers that count, too
            return shots, True
        if len(shots) > 1 and _as_long(shots[-2], shots[-1]):
            return shots, True
    return shots, False


def _counters(endpoint: Endpoint, doors: Doors, alone: bool) -> Counters | None:
    """None for two at one URL: each would take the other for a stranger."""
    return endpoint.counters(doors.http) if alone else None


def _as_long(one: Shot, other: Shot) -> bool:
    a, b = one.reply.ended_s or 0.0, other.reply.ended_s or 0.0
    return abs(a - b) <= AGREE * max(a, b)


def _order(count: int, repeat: int) -> list[int]:
    order = list(range(count))
    return order[::-1] if repeat % 2 else order


def _of(endpoint: Endpoint) -> dict[str, str | float | None]:
    return {
        "url": endpoint.url,
        "model": endpoint.model,
        "engine": endpoint.engine or None,
        "engine_version": endpoint.version or None,
    }
