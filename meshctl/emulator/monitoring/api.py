"""Monitoring v3 `timeSeries.list` for two metrics of Cloud Run, in the form a client needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from meshctl.emulator.answers import page
from meshctl.emulator.failures import invalid
from meshctl.emulator.filters import Condition, microseconds, parse, unsupported
from meshctl.emulator.logging import origin
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.moment import now_us, rfc3339
from meshctl.emulator.monitoring.counts import MINUTE_US, Counts, Minutes

REQUESTS = "run.googleapis.com/request_count"
INSTANCES = "run.googleapis.com/container/instance_count"
FIELDS = (
    *origin.FIELDS,
    "metric.type",
    "metric.labels.response_code",
    "metric.labels.response_code_class",
    "metric.labels.state",
)
_PARAMETERS = {
    "filter",
    "interval.startTime",
    "interval.endTime",
    "aggregation.alignmentPeriod",
    "aggregation.perSeriesAligner",
    "view",
    "pageSize",
    "pageToken",
    "$alt",
}
_NONE = "ALIGN_NONE"
# How the minutes of one period become one value.
_ALIGNERS: dict[str, dict[str, Callable[[list[int]], int]]] = {
    REQUESTS: {_NONE: sum, "ALIGN_SUM": sum, "ALIGN_DELTA": sum},
    INSTANCES: {_NONE: max, "ALIGN_MAX": max},
}


@dataclass(frozen=True)
class Window:
    """From when to when, in periods (microseconds) that end at `end`; 0 = each minute as it is."""

    start: int
    end: int
    period: int


class MonitoringApi:
    """HTTP in, time series out; `sample` takes the instance counts of this moment first."""

    def __init__(self, counts: Counts, sample: Callable[[], None]) -> None:
        self._counts, self._sample = counts, sample

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_get("/v3/projects/{project}/timeSeries", self.answer)

    async def answer(self, request: web.Request) -> web.Response:
        """GET timeSeries?filter=&interval.startTime=&interval.endTime="""
        _only_known(request)
        conditions = _conditions(request)
        metric, window = _metric(conditions), _window(request)
        reduce = _aligner(request, metric)
        self._sample()
        project = request.match_info["project"]
        rows = self._series(project, metric, conditions, window, reduce)
        answer = page(request, "timeSeries", rows, lambda row: row)
        return web.json_response(answer if rows else {})  # proto3 JSON leaves an empty list out

    def _series(
        self,
        project: str,
        metric: str,
        conditions: list[Condition],
        window: Window,
        reduce: Callable[[list[int]], int],
    ) -> list[dict[str, Any]]:
        kind, out = ("requests" if metric == REQUESTS else "instances"), []
        for of, label, minutes in self._counts.series(kind):
            series = _head(metric, of, label)
            series["points"] = _points(metric, minutes, window, reduce)
            mine = of.project == project and all(c.holds(_field(series, c)) for c in conditions)
            if mine and series["points"]:
                out.append(series)
        return out


def _only_known(request: web.Request) -> None:
    """What is not understood is refused: an answer to another question would be a wrong one."""
    unknown = sorted(set(request.query) - _PARAMETERS)
    if unknown:
        raise invalid(f"'{unknown[0]}' is not supported by this server.", unknown[0])
    if request.query.get("view", "FULL") not in ("FULL", "0"):
        raise invalid("Only the view FULL is supported by this server.", "view")


def _conditions(request: web.Request) -> list[Condition]:
    """Groups of values are Logging's; Monitoring has one_of() for it, not imitated."""
    conditions = parse(request.query.get("filter", ""), FIELDS)
    for condition in conditions:
        if len(condition.values) > 1:
            raise unsupported(f"the group of values of '{condition.field}'")
    return conditions


def _metric(conditions: list[Condition]) -> str:
    """The one metric that a request is about."""
    named = [c for c in conditions if c.field == "metric.type"]
    values = named[0].values if len(named) == 1 and named[0].op == "=" else ()
    if len(values) != 1 or values[0] not in _ALIGNERS:
        known = " or ".join(_ALIGNERS)
        raise invalid(f"The filter must name one metric.type: {known}.", "filter")
    return values[0]


def _window(request: web.Request) -> Window:
    end = _time(request, "interval.endTime")
    if end is None:
        raise invalid("interval.end_time is required.", "interval.end_time")
    start = _time(request, "interval.startTime")
    if start is not None and start > end:
        raise invalid("interval.start_time is after interval.end_time.", "interval.start_time")
    return Window(end if start is None else start, end, _period_us(request))


def _time(request: web.Request, key: str) -> int | None:
    text = request.query.get(key)
    if not text:
        return None
    moment = microseconds(text)
    if moment is None:
        raise invalid(f"'{text}' is not an RFC 3339 time.", key)
    return moment


def _period_us(request: web.Request) -> int:
    """Periods belong to an aligner, as in the real service."""
    text = request.query.get("aggregation.alignmentPeriod", "")
    aligned = request.query.get("aggregation.perSeriesAligner", _NONE) != _NONE
    if not text and not aligned:
        return 0
    seconds = text.removesuffix("s")
    if not aligned or not text.endswith("s") or not seconds.isdigit() or int(seconds) < 60:
        raise invalid(
            "alignment_period is at least 60s and goes with a per_series_aligner.", "aggregation"
        )
    return int(seconds) * 1_000_000


def _aligner(request: web.Request, metric: str) -> Callable[[list[int]], int]:
    name = request.query.get("aggregation.perSeriesAligner", _NONE)
    if name not in _ALIGNERS[metric]:
        known = ", ".join(_ALIGNERS[metric])
        raise invalid(f"per_series_aligner '{name}' of {metric}: only {known}.", "aggregation")
    return _ALIGNERS[metric][name]


def _head(metric: str, of: Origin, label: str) -> dict[str, Any]:
    if metric == REQUESTS:
        labels = {"response_code": label, "response_code_class": f"{label[0]}xx"}
        return _typed(metric, of, labels, "DELTA")
    return _typed(metric, of, {"state": label}, "GAUGE")


def _typed(metric: str, of: Origin, labels: dict[str, str], kind: str) -> dict[str, Any]:
    return {
        "metric": {"type": metric, "labels": labels},
        "resource": of.resource(),
        "metricKind": kind,
        "valueType": "INT64",
    }


def _field(series: dict[str, Any], condition: Condition) -> Any:
    value: Any = series
    for name in condition.field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _points(
    metric: str, minutes: Minutes, window: Window, reduce: Callable[[list[int]], int]
) -> list[dict[str, Any]]:
    """Newest first, as the real service lists them; a period without a minute has no point."""
    stretches: dict[tuple[int, int], list[int]] = {}
    for minute, value in minutes.items():
        begin = minute * MINUTE_US
        if begin <= window.end and begin + MINUTE_US > window.start:
            stretches.setdefault(_stretch(window, begin), []).append(value)
    return [
        {
            # A gauge's point is an instant, a delta's a stretch of time.
            "interval": {
                "startTime": rfc3339(end if metric == INSTANCES else start),
                "endTime": rfc3339(end),
            },
            "value": {"int64Value": str(reduce(values))},
        }
        for (start, end), values in sorted(stretches.items(), reverse=True)
    ]


def _stretch(window: Window, begin: int) -> tuple[int, int]:
    """The minute itself, or the period it ends in; nothing ends in the future."""
    end = min(begin + MINUTE_US, now_us())
    if not window.period:
        return begin, end
    last = window.end - max(window.end - end, 0) // window.period * window.period
    return last - window.period, last
