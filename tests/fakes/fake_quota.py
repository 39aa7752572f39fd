"""Cloud Quotas and Cloud Monitoring in memory: JSON as they send it, or the error they answer."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from meshctl.errors import MeshctlError
from meshctl.outside.monitoring import INSTANCES, Series

Json = dict[str, Any]
NOW = datetime.datetime(2026, 11, 30, 20, 45, tzinfo=datetime.UTC)


def info(id: str, *rows: Json) -> Json:
    """One QuotaInfo; a row is made by `value`."""
    return {"quotaId": id, "service": "run.googleapis.com", "dimensionsInfos": list(rows)}


def value(amount: int | None, region: str | None = None, *places: str) -> Json:
    """A value for one region, or for the rest of them. protobuf's JSON leaves a zero out."""
    row: Json = {"details": {"value": str(amount)} if amount else {}}
    if region:
        row["dimensions"] = {"region": region}
    return row | {"applicableLocations": list(places or ([region] if region else []))}


def points(service: str, revision: str, *numbers: tuple[str, float]) -> Json:
    """One series: (end of the period, number)."""
    return {
        "resource": {
            "type": "cloud_run_revision",
            "labels": {"service_name": service, "revision_name": revision},
        },
        "points": [{"interval": {"endTime": at}, "value": {"doubleValue": n}} for at, n in numbers],
    }


@dataclass
class FakeQuotas:
    """The infos, or the error that stands in their place."""

    infos: list[Json] = field(default_factory=list)
    error: MeshctlError | None = None
    asked: int = 0

    def list_infos(self) -> list[Json]:
        self.asked += 1
        if self.error:
            raise self.error
        return self.infos


@dataclass
class FakeMonitoring:
    """Instances and requests, or the error that stands in their place."""

    instances: list[Json] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    error: MeshctlError | None = None

    def time_series(self, series: Series, now: datetime.datetime) -> list[Json]:
        if self.error:
            raise self.error
        return self.instances if series.metric == INSTANCES else self.requests
