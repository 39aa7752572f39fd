"""What a mesh counts, and how GET /metrics shows it, in the text form of Prometheus. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal

Outcome = Literal["answered", "refused", "failed", "left"]
"""answered: whole, by an engine or a peer. refused: a 4xx, the client's own doing. failed: any
other failure, cut streams included. left: the client went away first."""

BOUNDS_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""From an idle engine to a cold start of ten minutes."""


def outcome_of(status: int) -> Outcome:
    """What a status line says of the request."""
    if status < 400:
        return "answered"
    return "refused" if status < 500 else "failed"


class Series:
    """One number that goes up, or up and down."""

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float) -> None:
        """Changes it."""
        self.value += amount


class Histogram:
    """How long something took, in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """One more."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, label: str = "") -> Iterator[str]:
        """Buckets, sum and count; a bucket counts all that were no longer."""
        below, all_labels = 0, f"{{{label}}}" if label else ""
        for bound, count in zip((*BOUNDS_S, "+Inf"), self._counts, strict=True):
            below += count
            yield f'{name}_bucket{{{label}{"," if label else ""}le="{bound}"}} {below}'
        yield f"{name}_sum{all_labels} {self._sum:.6f}"
        yield f"{name}_count{all_labels} {below}"


class PerModel:
    """One histogram for each model that had anything to observe."""

    def __init__(self) -> None:
        self._models: dict[str, Histogram] = {}

    def observe(self, model: str, seconds: float) -> None:
        """One more; `model` is one of this mesh's own."""
        self._models.setdefault(model, Histogram()).observe(seconds)

    def lines(self, name: str) -> Iterator[str]:
        """All of them, sorted by model."""
        for model, histogram in sorted(self._models.items()):
            yield from histogram.lines(name, f'model="{model}"')


class Metrics:
    """Everything that one mesh counts."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, Outcome], int] = {}
        self.failures: dict[str, int] = {}
        self.waiting = Series()
        self.held = Series()
        self.keep_alives = Series()
        self.retries = Series()
        self.truncations = Series()
        self.unauthorized = Series()
        self.wait = Histogram()
        self.loads = PerModel()
        self.swaps = PerModel()
        self.first = {what: Histogram() for what in ("byte", "event", "token")}

    def count(self, model: str, outcome: Outcome) -> None:
        """One request more; `model` is a declared name, or empty: clients cannot grow the list."""
        self.requests[model, outcome] = self.requests.get((model, outcome), 0) + 1

    def failed(self, model: str) -> None:
        """An engine ended unasked, or never got ready."""
        self.failures[model] = self.failures.get(model, 0) + 1

    def text(self, peers_up: dict[str, bool], loaded: dict[str, bool]) -> str:
        """The page; equal numbers give equal text."""
        gauges = self._gauges(peers_up, loaded)
        return "\n".join((*self._counters(), *gauges, *self._times())) + "\n"

    def _counters(self) -> Iterator[str]:
        yield from _head("mesh_requests_total", "counter", "Requests by model and how they ended.")
        for (model, outcome), count in sorted(self.requests.items()):
            yield f'mesh_requests_total{{model="{model}",outcome="{outcome}"}} {count}'
        yield from _head("mesh_engine_failures_total", "counter", "Ends unasked, failed loads.")
        for model, count in sorted(self.failures.items()):
            yield f'mesh_engine_failures_total{{model="{model}"}} {count}'
        yield from _one(
            "mesh_unauthorized_total", "counter", "Requests without a known key.", self.unauthorized
        )
        yield from _one("mesh_keepalives_sent_total", "counter", "Signs of life.", self.keep_alives)
        yield from _one("mesh_retries_total", "counter", "Requests sent again.", self.retries)
        yield from _one(
            "mesh_upstream_truncations_total", "counter", "Answers cut short.", self.truncations
        )

    def _gauges(self, peers_up: dict[str, bool], loaded: dict[str, bool]) -> Iterator[str]:
        yield from _one("mesh_queue_depth", "gauge", "Requests that wait for a turn.", self.waiting)
        yield from _one("mesh_held_requests", "gauge", "Streams without a word yet.", self.held)
        yield from _head("mesh_peer_up", "gauge", "0 while a peer is left alone after a failure.")
        for peer, up in sorted(peers_up.items()):
            yield f'mesh_peer_up{{peer="{peer}"}} {int(up)}'
        yield from _head("mesh_model_loaded", "gauge", "1 while the engine of a model is ready.")
        for model, ready in sorted(loaded.items()):
            yield f'mesh_model_loaded{{model="{model}"}} {int(ready)}'

    def _times(self) -> Iterator[str]:
        name = "mesh_queue_wait_seconds"
        yield from _head(name, "histogram", "From arrival to the turn, of those who waited.")
        yield from self.wait.lines(name)
        for name, text, times in (
            ("mesh_swap_seconds", "From the end of those in the way to ready.", self.swaps),
            ("mesh_load_seconds", "From the start of an engine to ready.", self.loads),
        ):
            yield from _head(name, "histogram", text)
            yield from times.lines(name)
        for what, histogram in self.first.items():
            name = f"mesh_time_to_first_{what}_seconds"
            yield from _head(name, "histogram", f"From arrival to the first {what} of a stream.")
            yield from histogram.lines(name)


def _one(name: str, kind: str, text: str, series: Series) -> Iterator[str]:
    yield from _head(name, kind, text)
    yield f"{name} {series.value:.0f}"


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
