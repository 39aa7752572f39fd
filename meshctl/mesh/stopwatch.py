"""Measures how long the loads and the swaps of one group of models take. Pure."""

from __future__ import annotations

from meshctl.mesh.metrics import Metrics


class Stopwatch:
    """Hears of each load what began it; times are seconds on one clock that never goes back."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._way: tuple[str, float] | None = None
        """For whom others are ended, and since when."""
        self._swaps: dict[str, float] = {}
        self._loads: dict[str, float] = {}

    def makes_way(self, model: str, at: float) -> None:
        """Another engine is ended for this model: with the first one the swap begins."""
        if self._way is None or self._way[0] != model:
            self._way = (model, at)

    def starts(self, model: str, at: float) -> None:
        """Its engine is started; that it had to wait for others is part of its swap."""
        self._loads[model] = at
        self._swaps.pop(model, None)
        if self._way and self._way[0] == model:
            self._swaps[model] = self._way[1]
        self._way = None

    def is_ready(self, model: str, at: float) -> None:
        """The load is over, and so is the swap."""
        self._metrics.loads.observe(model, at - self._loads.pop(model))
        if model in self._swaps:
            self._metrics.swaps.observe(model, at - self._swaps.pop(model))

    def nobody_came(self) -> None:
        """The way is free, and who asked for it has left: there is no swap."""
        self._way = None
