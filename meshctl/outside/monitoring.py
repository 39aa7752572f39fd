"""The Cloud Monitoring door: what a project measured of its services, as time series."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Protocol

from meshctl.outside.clock import rfc3339
from meshctl.outside.gcp import Calls, Cloud
from meshctl.outside.http import Http
from meshctl.outside.rest import MOST_PAGES, Rest, rows

Json = dict[str, Any]
HOST = "monitoring.googleapis.com"
INSTANCES = "run.googleapis.com/container/instance_count"
"""Gauge by state (active, idle), sampled every 60 s, visible up to 180 s later."""
REQUESTS = "run.googleapis.com/request_count"
"""Delta by response code, sampled every 60 s, visible up to 180 s later."""


@dataclass(frozen=True)
class Series:
    """Which numbers: a metric of every revision in the region over the last `window_s` seconds,
    one for each `period_s` seconds, or without an aligner as they were sampled."""

    metric: str
    window_s: float
    period_s: int = 0
    aligner: str = ""


class MonitoringApi(Protocol):
    """What a reading of the quota asks of the cloud."""

    def time_series(self, series: Series, now: datetime.datetime) -> list[Json]: ...


class RestMonitoring:
    """timeSeries.list by plain REST."""

    def __init__(self, cloud: Cloud, http: Http, calls: Calls) -> None:
        self.cloud = cloud
        self._rest = Rest(cloud, http, calls, HOST)

    def time_series(self, series: Series, now: datetime.datetime) -> list[Json]:
        """Every series that has any points, one for each revision and state or answer.

        Raises ApiError where the API is off or the permission is missing, Unreachable.
        """
        query = self._query(series, now)
        found: list[Json] = []
        token = ""
        for _ in range(MOST_PAGES):
            page = self._rest.ask(
                f"monitoring timeSeries.list {series.metric}",
                "GET",
                f"/v3/projects/{self.cloud.project}/timeSeries",
                query=[*query, ("pageToken", token)] if token else query,
            )
            found += rows(page, "timeSeries")
            token = str(page.get("nextPageToken") or "")
            if not token:
                break
        return found

    def _query(self, series: Series, now: datetime.datetime) -> list[tuple[str, str]]:
        start = now - datetime.timedelta(seconds=series.window_s)
        query = [
            ("filter", f'metric.type="{series.metric}" AND resource.type="cloud_run_revision" '
                       f'AND resource.labels.location="{self.cloud.region}"'),
            ("interval.startTime", rfc3339(start)),
            ("interval.endTime", rfc3339(now)),
        ]  # fmt: skip
        if series.aligner:
            query.append(("aggregation.alignmentPeriod", f"{series.period_s}s"))
            query.append(("aggregation.perSeriesAligner", series.aligner))
        return query
