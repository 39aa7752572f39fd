"""Monitoring and Logging are asked in Google's own form, and their errors are ours."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from meshctl.errors import Unreachable
from meshctl.outside.gcp import ApiError, Calls, Cloud, LostAnswer
from meshctl.outside.http import Deadline
from meshctl.outside.logs import RestLogs
from meshctl.outside.monitoring import REQUESTS, RestMonitoring, Series
from tests.fakes.fake_http import FakeHttp, Scripted, answer

CLOUD = Cloud("my-project", "us-central1", "http://cloud.fake")
NOW = datetime.datetime(2026, 11, 30, 20, 45, tzinfo=datetime.UTC)
SERIES = "/v3/projects/my-project/timeSeries"


def monitored(*answers: Scripted) -> tuple[FakeHttp, list[dict[str, Any]]]:
    http = FakeHttp({f"GET {SERIES}": answers})
    series = Series(REQUESTS, window_s=3600.0, period_s=60, aligner="ALIGN_SUM")
    return http, RestMonitoring(CLOUD, http, Calls()).time_series(series, NOW)


def test_a_time_series_is_asked_by_metric_region_and_window() -> None:
    http, _ = monitored(answer(200, {}))

    query = parse_qs(urlsplit(http.asked[0].url).query)
    assert query["filter"] == [
        f'metric.type="{REQUESTS}" AND resource.type="cloud_run_revision" '
        'AND resource.labels.location="us-central1"'
    ]
    assert query["interval.startTime"] == ["2026-11-30T19:45:00.000000Z"]
    assert query["interval.endTime"] == ["2026-11-30T20:45:00.000000Z"]
    assert query["aggregation.alignmentPeriod"] == ["60s"]
    assert query["aggregation.perSeriesAligner"] == ["ALIGN_SUM"]


def test_every_page_is_read_with_the_same_question() -> None:
    pages = (
        answer(200, {"timeSeries": [{"n": 1}, "no series"], "nextPageToken": "p2"}),
        answer(200, {"timeSeries": [{"n": 2}]}),
    )

    http, found = monitored(*pages)

    first, second = (parse_qs(urlsplit(request.url).query) for request in http.asked)
    assert found == [{"n": 1}, {"n": 2}]
    assert second == {**first, "pageToken": ["p2"]}


def test_a_listing_without_end_is_cut() -> None:
    http, _ = monitored(answer(200, {"timeSeries": [], "nextPageToken": "again"}))

    assert len(http.asked) == 20


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (answer(403, {"error": {"status": "PERMISSION_DENIED", "message": "API is off"}}),
         ApiError, "API is off (PERMISSION_DENIED)"),
        (answer(403, "<html>no</html>"), ApiError, "HTTP 403 (PERMISSION_DENIED)"),
        (answer(404, {"error": "gone"}), ApiError, "HTTP 404 (NOT_FOUND)"),
        (answer(503, {"error": {"status": "UNAVAILABLE", "message": "later"}}),
         LostAnswer, "later"),
        (answer(200, "[1]"), LostAnswer, "not the JSON"),
        (answer(200, "<html>"), LostAnswer, "not the JSON"),
        (Unreachable("no route"), LostAnswer, "no route"),
        (Deadline("too slow"), Deadline, "too slow"),
    ],
)  # fmt: skip
def test_what_google_refuses_is_an_error_of_ours(
    given: Scripted, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(").replace(")", r"\)")):
        monitored(given)


def test_the_newest_entries_are_asked_for_and_no_more_than_wanted() -> None:
    pages = (
        answer(200, {"entries": [{"n": 5}, {"n": 4}], "nextPageToken": "p2"}),
        answer(200, {"entries": [{"n": 3}, {"n": 2}], "nextPageToken": "p3"}),
    )
    http = FakeHttp({"POST /v2/entries:list": pages})
    calls = Calls()

    found = RestLogs(CLOUD, http, calls).newest("severity>=ERROR", 3)

    assert found == [{"n": 5}, {"n": 4}, {"n": 3}]
    assert http.asked[0].body == {
        "resourceNames": ["projects/my-project"], "filter": "severity>=ERROR",
        "orderBy": "timestamp desc", "pageSize": 3,
    }  # fmt: skip
    assert http.asked[1].body == {**http.asked[0].body, "pageToken": "p2"}
    assert calls.made == ["logging entries.list", "logging entries.list"]


def test_the_embedded_cloud_is_asked_without_a_token() -> None:
    http, _ = monitored(answer(200, {}))

    assert dict(http.asked[0].headers) == {}
