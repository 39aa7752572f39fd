"""What Google says of quotas and instances is read right, and what it does not say is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.period import Period
from meshctl.plan.pools import POOLS, Limit
from meshctl.targets.cloudrun.quota import asked_of, limits_of, revision_holders, running_of
from tests.fakes.fake_quota import info, points, value

L4, L4_ZONAL, RTX, _, CPU, MEMORY = POOLS


def limit(pool_id: str, *rows: Any) -> Limit:
    return next(
        found for found in limits_of([info(pool_id, *rows)], "us-central1")
        if found.pool.id == pool_id
    )  # fmt: skip


def test_the_value_of_the_region_wins_over_the_general_one() -> None:
    found = limit(L4.id, value(3, "us-central1"), value(0, None, "us-central1", "europe-west1"))

    assert (found.value, found.why) == (3, "")


def test_a_region_without_a_row_of_its_own_has_the_general_value() -> None:
    found = limit(L4.id, value(3, "europe-west4"), value(7, None, "us-central1"))

    assert found.value == 7


def test_a_general_value_is_for_every_region_and_rather_for_those_it_names() -> None:
    rows = [value(1, None, "europe-west4"), value(2, None, "us-central1")]

    assert limit(L4.id, *rows).value == 2
    assert limit(L4.id, *rows[:1]).value == 1


def test_a_zero_that_protobuf_leaves_out_is_a_zero_and_not_unknown() -> None:
    assert limit(L4.id, value(None, "us-central1")) == Limit(L4, 0)


def test_thousandths_of_an_rtx_are_whole_gpus_and_l4s_are_counted_as_they_are() -> None:
    assert limit(RTX.id, value(1000, "us-central1")).value == 1
    assert limit(RTX.id, value(2999, "us-central1")).value == 2
    assert limit(L4.id, value(1000, "us-central1")).value == 1000


def test_processors_stay_thousandths_and_memory_stays_bytes() -> None:
    assert limit(CPU.id, value(400_000, "us-central1")).value == 400_000
    assert limit(MEMORY.id, value(40 * 2**30, "us-central1")).value == 40 * 2**30


def test_minus_one_is_without_limit() -> None:
    found = limit(L4.id, value(-1, "us-central1"))

    assert (found.value, found.unlimited) == (None, True)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [value(3, "europe-west4")],
        [{"details": {"value": "many"}}],
        [{"details": {"value": [1]}}],
    ],
)
def test_what_is_not_said_of_the_region_or_cannot_be_read_is_unknown(rows: Any) -> None:
    found = limit(L4.id, *rows)

    assert found.value is None and not found.unlimited
    assert L4.id in found.why


def test_a_quota_that_is_not_listed_is_unknown() -> None:
    found = limits_of([], "us-central1")

    assert all(one.value is None and one.pool.id in one.why for one in found)


def test_instances_of_every_state_are_summed_and_those_that_stopped_reporting_are_gone() -> None:
    series = [
        points("chat", "chat-2", ("2026-11-30T20:44:00Z", 1), ("2026-11-30T20:43:00Z", 5)),
        points("chat", "chat-2", ("2026-11-30T20:44:00Z", 2)),
        points("chat", "chat-1", ("2026-11-30T20:41:00Z", 1)),
        points("small", "small-1", ("2026-11-30T20:43:00Z", 0.5)),
    ]

    assert running_of(series) == {("chat", "chat-2"): 3, ("small", "small-1"): 1}


def test_the_last_request_came_somewhere_in_the_newest_period_that_had_any() -> None:
    series = [
        points("chat", "chat-1", ("2026-11-30T20:00:00Z", 0), ("2026-11-29T10:00:00Z", 4)),
        points("small", "small-1", ("2026-11-30T20:00:00Z", 0)),
    ]

    hour = Period(since="2026-11-29T09:00:00Z", until="2026-11-29T10:00:00Z")
    assert asked_of(series, 3600) == {("chat", "chat-1"): hour}


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"resource": 7, "points": 7},
        points("chat", "chat-1", ("yesterday", 1)),
        points("chat", "chat-1", ("2026-11-30T20:44:00", 1)),
        points("chat", "chat-1", ("2026-11-30T20:44:00Z", float("nan"))),
        points("chat", "chat-1", ("2026-11-30T20:44:00Z", -1)),
        points("chat", "chat-1", ("0001-01-01T00:00:00Z", 1)),
        points("chat", "chat-1", ("9999-12-31T23:59:59-10:00", 1)),
        {**points("chat", "chat-1"), "points": [{"interval": {}, "value": None}]},
    ],
)
def test_a_series_that_says_nothing_legible_counts_for_nothing(row: Any) -> None:
    assert running_of([row]) == {}
    assert asked_of([row], 3600) == {}


def revision(name: str, gpu: str | None = "nvidia-l4", least: int = 0) -> dict[str, Any]:
    return {
        "name": f"projects/p/locations/r/services/chat/revisions/{name}",
        "createTime": "2026-11-01T00:00:00Z",
        "scaling": {"minInstanceCount": least, "maxInstanceCount": 3},
        "nodeSelector": {"accelerator": gpu} if gpu else {},
        "gpuZonalRedundancyDisabled": True,
        "containers": [{"resources": {"limits": {"cpu": "8", "memory": "32Gi"}}}],
    }


def chat(least: int, *rows: tuple[str, int, str | None]) -> dict[str, Any]:
    traffic = [{"revision": name, "percent": percent} | ({"tag": tag} if tag else {})
               for name, percent, tag in rows]  # fmt: skip
    return {
        "name": "projects/p/locations/r/services/chat",
        "scaling": {"minInstanceCount": least},
        "traffic": traffic,
        "trafficStatuses": traffic,
    }


def warm(service: dict[str, Any], *revisions: dict[str, Any]) -> dict[str, int]:
    return {h.revision: h.warm for h in revision_holders(service, list(revisions), None, None)}


def test_the_minimum_of_a_service_is_shared_by_percent_and_the_first_listed_gets_the_rest() -> None:
    service = chat(3, ("chat-1", 50, None), ("chat-2", 50, None))

    assert warm(service, revision("chat-2"), revision("chat-1")) == {"chat-2": 1, "chat-1": 2}


def test_a_tagged_candidate_is_kept_warm_by_its_own_minimum_not_by_that_of_the_service() -> None:
    service = chat(1, ("chat-1", 100, None), ("chat-2", 0, "c"), ("chat-3", 0, "d"))

    found = warm(service, revision("chat-3", least=1), revision("chat-2"), revision("chat-1"))

    assert found == {"chat-3": 1, "chat-2": 0, "chat-1": 1}


def test_a_retired_revision_is_shown_only_while_an_instance_of_it_runs() -> None:
    service, revisions = chat(0, ("chat-2", 100, None)), [revision("chat-2"), revision("chat-1")]

    idle = revision_holders(service, revisions, {}, None)
    draining = revision_holders(service, revisions, {("chat", "chat-1"): 1}, None)

    assert [h.revision for h in idle] == ["chat-2"]
    assert [(h.revision, h.running) for h in draining] == [("chat-2", 0), ("chat-1", 1)]
