"""Monitoring: requests and instances as the fronts and pools really had them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from google.cloud import run_v2

from tests.emulator.cloud.embedded import DIRECT, Cloud, ask, eventually, fetch

REQUESTS = "run.googleapis.com/request_count"
INSTANCES = "run.googleapis.com/container/instance_count"


def stamp(minutes: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def query(metric: str, service: str, **more: str) -> dict[str, str]:
    filter = f'metric.type="{metric}" AND resource.labels.service_name="{service}"'
    interval = {"interval.startTime": stamp(-10), "interval.endTime": stamp()}
    return {"filter": filter, **interval, **{k.replace("_", "."): v for k, v in more.items()}}


def series(cloud: Any, parameters: dict[str, str]) -> list[dict[str, Any]]:
    path = f"/v3/projects/p/timeSeries?{urlencode(parameters)}"
    status, answer = cloud.call("GET", path)
    assert status == 200, answer
    return list(answer.get("timeSeries", []))


def total(row: dict[str, Any]) -> int:
    return sum(int(point["value"]["int64Value"]) for point in row["points"])


def test_requests_are_counted_by_revision_and_code(cloud: Any) -> None:
    made = cloud.create("busy", cloud.template(revision="busy-a"))
    before = stamp()
    for _ in range(3):
        ask(made.uri)

    (row,) = series(cloud, query(REQUESTS, "busy"))

    newest = row["points"][0]["interval"]
    assert row["metric"]["labels"] == {"response_code": "200", "response_code_class": "2xx"}
    assert row["resource"]["labels"]["revision_name"] == "busy-a"
    assert (row["metricKind"], row["valueType"], total(row)) == ("DELTA", "INT64", 3)
    assert before[:19] <= newest["endTime"][:19] <= stamp()[:19]


def test_what_never_reached_a_revision_is_not_counted(cloud: Any) -> None:
    made = cloud.create("shut", public=False)

    assert fetch(made.uri + "/")[0] == 403

    assert series(cloud, query(REQUESTS, "shut")) == []


def test_a_request_whose_client_left_counts_too(cloud: Any) -> None:
    made = cloud.create("left")
    with pytest.raises(TimeoutError):
        DIRECT.open(made.uri + "/sleep/5", timeout=0.3)

    eventually(lambda: len(series(cloud, query(REQUESTS, "left"))) == 1)

    (row,) = series(cloud, query(REQUESTS, "left"))
    assert row["metric"]["labels"]["response_code"] == "499"


def test_an_interval_that_ended_before_has_no_points(cloud: Any) -> None:
    ask(cloud.create("late").uri)
    past = query(REQUESTS, "late") | {
        "interval.startTime": stamp(-60),
        "interval.endTime": stamp(-10),
    }

    assert series(cloud, past) == []


def test_periods_sum_their_minutes(cloud: Any) -> None:
    made = cloud.create("summed")
    ask(made.uri)
    ask(made.uri)

    (row,) = series(
        cloud,
        query(REQUESTS, "summed")
        | {
            "aggregation.alignmentPeriod": "86400s",
            "aggregation.perSeriesAligner": "ALIGN_SUM",
        },
    )

    assert [point["value"]["int64Value"] for point in row["points"]] == ["2"]


def test_instances_are_counted_idle_and_active(cloud: Any) -> None:
    cloud.create("warm", scaling=run_v2.ServiceScaling(min_instance_count=2))

    def counts() -> dict[str, int]:
        rows = series(cloud, query(INSTANCES, "warm"))
        newest = [(r["metric"]["labels"]["state"], r["points"][0]) for r in rows]
        return {state: int(point["value"]["int64Value"]) for state, point in newest}

    eventually(lambda: counts() == {"active": 0, "idle": 2})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"filter": 'metric.type="compute.googleapis.com/cpu"'}, "metric.type"),
        ({"filter": 'resource.labels.service_name="x"'}, "metric.type"),
        (
            {"filter": f'metric.type="{REQUESTS}" AND metric.labels.route="x"'},
            "metric.labels.route",
        ),
        ({"aggregation.crossSeriesReducer": "REDUCE_SUM"}, "crossSeriesReducer"),
        (
            {"aggregation.perSeriesAligner": "ALIGN_RATE", "aggregation.alignmentPeriod": "60s"},
            "ALIGN_RATE",
        ),
        ({"aggregation.alignmentPeriod": "60s"}, "per_series_aligner"),
        ({"interval.endTime": ""}, "interval.end_time"),
        ({"interval.endTime": "soon"}, "soon"),
        ({"view": "HEADERS"}, "view"),
    ],
)
def test_a_question_that_is_not_understood_is_refused_by_name(
    cloud: Any, change: dict[str, str], named: str
) -> None:
    path = f"/v3/projects/p/timeSeries?{urlencode(query(REQUESTS, 'x') | change)}"

    status, answer = cloud.call("GET", path)

    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert named in answer["error"]["message"]


def test_requests_survive_a_stop_and_a_kill_some_seconds_later(own: Cloud) -> None:
    own.start()
    own.build("repo/app:v1")
    made = own.create("kept")
    ask(made.uri)
    assert own.stop() == 0

    own.start()
    ask(own.get("kept").uri)
    time.sleep(3)
    own.kill()
    own.start()

    (row,) = series(own, query(REQUESTS, "kept"))
    assert total(row) == 2
