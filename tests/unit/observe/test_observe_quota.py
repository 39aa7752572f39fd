"""A reading of the quota: what is closed to us is unknown, and stale is said by a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from meshctl.errors import Unreachable
from meshctl.observe.quota import Doors, Holding, Rule, holdings, quota_report, quota_seen
from meshctl.outside.cloudrun import CloudRunApi
from meshctl.outside.gcp import ApiError, Cloud
from meshctl.outside.retries import Patience
from meshctl.plan.pools import POOLS
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_quota import NOW, FakeMonitoring, FakeQuotas, info, points, value

DAY_S = 86400.0
L4 = POOLS[0]
CLOSED = ApiError("PERMISSION_DENIED", "Cloud Quotas API has not been used")
Json = dict[str, Any]


@dataclass
class Region:
    """The two lists of Cloud Run that a reading asks for."""

    services: list[Json]
    revisions: list[Json]
    error: Exception | None = None
    cloud: Cloud = field(default_factory=lambda: Cloud("p", "us-central1", "http://cloud.fake"))

    def list_services(self) -> list[Json]:
        if self.error:
            raise self.error
        return self.services

    def list_revisions(self, service: str) -> list[Json]:
        assert service == "-", "all of them in one listing"
        return self.revisions


def template(gpu: str | None = "nvidia-l4") -> Json:
    return {
        "scaling": {"maxInstanceCount": 2},
        "nodeSelector": {"accelerator": gpu} if gpu else {},
        "gpuZonalRedundancyDisabled": True,
        "containers": [{"resources": {"limits": {"cpu": "8", "memory": "32Gi"}}}],
    }


def service(name: str, least: int = 0, gpu: str | None = "nvidia-l4") -> Json:
    traffic = [{"revision": f"{name}-1", "percent": 100}]
    return {
        "name": f"projects/p/locations/us-central1/services/{name}",
        "createTime": "2026-10-01T00:00:00Z", "template": template(gpu),
        "scaling": {"minInstanceCount": least}, "traffic": traffic, "trafficStatuses": traffic,
    }  # fmt: skip


def revision(
    of: str, name: str, created: str = "2026-10-01T00:00:00Z", gpu: str | None = "nvidia-l4"
) -> Json:
    path = f"projects/p/locations/us-central1/services/{of}/revisions/{name}"
    return {"name": path, "createTime": created, **template(gpu)}


def doors(*names: str, monitoring: FakeMonitoring | None = None, **changed: Any) -> Doors:
    region = Region([service(name) for name in names], [revision(n, f"{n}-1") for n in names])
    quotas = FakeQuotas([info(L4.id, value(3, "us-central1"))])
    given = {"run": cast(CloudRunApi, region), "quotas": quotas,
             "monitoring": monitoring or FakeMonitoring(),
             "patience": Patience(FakeClock())}  # fmt: skip
    return Doors(**given | changed)


def stale(found: tuple[Holding, ...]) -> dict[str, str]:
    return {holding.holder.service: holding.stale for holding in found}


def report(asked: Doors, names: dict[str, str]) -> dict[str, str]:
    rule = Rule.of(NOW, 7 * DAY_S)
    return stale(holdings(quota_report(asked, NOW, 7 * DAY_S), names, rule))


def test_limits_and_what_runs_make_what_is_free() -> None:
    running = FakeMonitoring([points("chat", "chat-1", ("2026-11-30T20:44:00Z", 2))])

    seen = quota_seen(doors("chat", "small", monitoring=running), NOW)

    assert (seen.limit(L4).value, seen.in_use(L4), seen.free(L4)) == (3, 2, 1)
    assert [h.service for h in seen.drawing(L4)] == ["chat"]


def test_a_service_whose_name_begins_like_another_does_not_count_for_it() -> None:
    running = FakeMonitoring([points("chat-peer", "chat-peer-1", ("2026-11-30T20:44:00Z", 2))])

    seen = quota_seen(doors("chat", "chat-peer", monitoring=running), NOW)

    assert {h.service: h.running for h in seen.holders} == {"chat": 0, "chat-peer": 2}


def test_an_api_that_is_off_hides_only_itself() -> None:
    closed = doors("chat", quotas=FakeQuotas(error=CLOSED), monitoring=FakeMonitoring(error=CLOSED))

    seen = quota_report(closed, NOW, DAY_S)

    assert all(limit.value is None and "has not been used" in limit.why for limit in seen.limits)
    assert seen.running is None and "has not been used" in seen.why_running
    assert [h.running for h in seen.holders] == [None]


def test_a_plan_goes_on_where_services_cannot_be_listed_and_nothing_reads_as_free() -> None:
    region = Region([], [], ApiError("PERMISSION_DENIED", "run.services.list is missing"))

    seen = quota_seen(doors(run=cast(CloudRunApi, region)), NOW)

    assert seen.free(L4) is None
    assert "run.services.list is missing" in seen.limit(L4).why


def test_a_report_without_services_is_none() -> None:
    region = Region([], [], Unreachable("no route"))

    with pytest.raises(Unreachable, match="no route"):
        quota_report(doors(run=cast(CloudRunApi, region)), NOW, DAY_S)


def test_stale_is_what_the_fleet_does_not_know_unless_somebody_asks_it() -> None:
    asked = [points("busy", "busy-1", ("2026-11-30T19:00:00Z", 4))]
    known = points("chat", "chat-1", ("2026-11-29T19:00:00Z", 1))

    found = report(
        doors("chat", "busy", "old-demo", monitoring=FakeMonitoring(requests=[*asked, known])),
        {"chat": "chat"},
    )

    assert found == {
        "chat": "", "busy": "", "old-demo": "not in the fleet file, asked by nobody for 7d",
    }  # fmt: skip


def test_stale_is_what_nobody_asked_in_the_window_and_that_is_older_than_it() -> None:
    just_now = "2026-11-30T20:44:50Z"
    young = Region([service("chat"), service("new"), service("theirs")], [
        revision("chat", "chat-1"), revision("new", "new-1", "2026-11-29T00:00:00Z"),
        revision("theirs", "theirs-1", just_now)])  # fmt: skip

    found = report(doors(run=cast(CloudRunApi, young)), {"chat": "chat", "new": "new"})

    assert found == {"chat": "asked by nobody for 7d", "new": "", "theirs": ""}


def test_a_sleeping_service_without_a_gpu_holds_nothing_and_is_nobodys_business() -> None:
    region = Region([service("blog", gpu=None)], [revision("blog", "blog-1", gpu=None)])

    assert report(doors(run=cast(CloudRunApi, region)), {}) == {"blog": ""}


def test_without_monitoring_nobody_is_called_stale() -> None:
    blind = FakeMonitoring(error=CLOSED)

    found = report(doors("chat", "old-demo", monitoring=blind), {"chat": "chat"})

    assert found == {"chat": "", "old-demo": ""}


def test_the_rule_is_said_with_its_window() -> None:
    assert "asked by nobody for 7d, and older" in str(Rule.of(NOW, 7 * DAY_S))
    assert "for 36h" not in str(Rule.of(NOW, 7 * DAY_S))
