"""The quota through the real meshctl: who holds what, what is refused, and the way out works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from meshctl.ui.asked import Quota
from tests.emulator.bench import Bench, call, until

L4 = "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"
GPU = {"gpu": "nvidia-l4", "cpu": 4, "memory": "16Gi"}
QUESTIONS = ("quotaInfos.list", "timeSeries.list", "services.list")
Settings = Callable[..., None]


@pytest.fixture
def settings(bench: Bench) -> Iterator[Settings]:
    """Sets settings of the shared cloud, and puts back what was there."""
    _, before = call(bench.url, "GET", "/emulator/settings")

    def put(**values: Any) -> None:
        status, body = call(bench.url, "PUT", "/emulator/settings", values)
        assert status == 200, body

    yield put
    put(quota_limits=before["quota_limits"], retired_idle_seconds=before["retired_idle_seconds"],
        idle_seconds=before["idle_seconds"])  # fmt: skip


def l4(bench: Bench) -> dict[str, Any]:
    """The pool of L4 as `meshctl quota` sees it."""
    document = bench.json("quota")
    assert Quota.model_validate(document).data() == document
    return next(pool for pool in document["targets"][0]["pools"] if pool["id"] == L4)


def own(bench: Bench, document: Any) -> list[dict[str, Any]]:
    return [h for h in document["targets"][0]["holders"] if h["service"].startswith(bench.name)]


def minimum(bench: Bench, count: int) -> None:
    """What `gcloud run services update --min` does."""
    path = f"/v2/projects/local/locations/local1/services/{bench.name}"
    query = "?updateMask=scaling.minInstanceCount"
    status, body = call(bench.url, "PATCH", path + query, {"scaling": {"minInstanceCount": count}})
    assert status == 200, body


def test_a_full_pool_refuses_plan_deploy_and_build_and_says_who_holds_it(
    bench: Bench, settings: Settings
) -> None:
    settings(quota_limits={L4: {"local1": 1}})
    bench.declare("hog", resources=GPU, scaling={"min": 1})
    bench.deploy("hog")
    hog = bench.services.pop("hog")  # somebody else's from now on
    bench.declare(resources=GPU)

    planned, deployed = bench.meshctl("plan", "chat"), bench.meshctl("deploy", "chat", "-y")
    built, document = bench.meshctl("build", "small"), bench.json("quota")
    forced = bench.meshctl("-v", "deploy", "chat", "-y", "--despite-quota")
    bench.services["hog"] = hog  # to be removed with the rest

    assert (planned.code, deployed.code, built.code) == (8, 8, 8)
    said = " ".join(deployed.err.split())
    assert "0 free of 1 nvidia-l4 without zonal redundancy in local1" in said
    assert f"gcloud run services delete {hog['name']} --region=local1 --project=local" in said
    assert bench.service() is None, "nothing was made"
    assert bench.meshctl("build", "small", "--despite-quota").code == 0
    assert "quotaInfos.list" not in forced.err
    assert forced.code == 3, "the cloud itself had no place, and what was made is gone again"
    assert "`meshctl quota` says who holds" in " ".join((forced.out + forced.err).split())
    command = next(p for p in document["targets"][0]["pools"] if p["id"] == L4)["request"]
    assert "gcloud beta quotas preferences create " in command
    assert f"--quota-id={L4} --dimensions=region=local1 --preferred-value=2 " in command
    held = own(bench, document)[0]
    assert (held["service"], held["min"], held["running"], held["key"]) == (hog["name"], 1, 1, None)


def test_a_warm_service_is_told_how_to_roll_with_one_slot_and_that_way_works(
    bench: Bench, settings: Settings
) -> None:
    settings(quota_limits={L4: {"local1": 1}}, idle_seconds=0.5)
    bench.declare(resources=GPU, scaling={"min": 1})
    bench.deploy("chat")
    bench.env(COLOUR="blue")

    refused = bench.meshctl("deploy", "chat", "-y")
    minimum(bench, 0)
    until(lambda: l4(bench)["in_use"] == 0, 30)
    settings(idle_seconds=60.0)
    rolled = bench.meshctl("deploy", "chat", "-y")

    assert refused.code == 8
    assert f"gcloud run services update {bench.name} --min=0" in " ".join(refused.err.split())
    assert rolled.code == 0, rolled.err
    assert (bench.service() or {})["scaling"]["minInstanceCount"] == 1, "the minimum is back"


def test_a_maximum_over_the_quota_is_refused_before_the_cloud_is_asked_to_make_anything(
    bench: Bench, settings: Settings
) -> None:
    settings(quota_limits={L4: {"local1": 2}})
    bench.declare(resources=GPU, scaling={"max": 3})

    refused = bench.meshctl("-v", "deploy", "chat", "-y")

    asked = [line.split()[2] for line in refused.err.splitlines() if line.startswith("  . ")]
    # Each question once; a region with many services and series answers in several pages.
    assert list(dict.fromkeys(call for call in asked if call in QUESTIONS)) == [
        "services.list", "timeSeries.list", "quotaInfos.list",
    ], asked  # fmt: skip
    assert refused.code == 8
    assert "write `scaling: {max: 2}`" in " ".join(refused.err.split())
    assert bench.service() is None


def test_a_service_that_needs_no_quota_asks_for_none(bench: Bench) -> None:
    result = bench.meshctl("-v", "plan", "chat")

    assert "not asked yet" not in result.out
    assert "quotas quotaInfos.list" not in result.err


def test_an_unknown_target_of_quota_is_a_usage_error(bench: Bench) -> None:
    result = bench.meshctl("quota", "locla")

    assert result.code == 64
    assert 'did you mean "local"?' in result.err
