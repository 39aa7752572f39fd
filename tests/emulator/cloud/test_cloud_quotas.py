"""Cloud Quotas as the real client reads it, and the two gates a deployment must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core import exceptions
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import cloudquotas_v1, run_v2

from tests.emulator.cloud.embedded import PARENT, ask, eventually, fetch

L4 = "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"
L4_REDUNDANT = "NvidiaL4GpuAllocPerProjectRegion"
RTX = "NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion"
CPU, MEMORY = "CpuAllocPerProjectRegion", "MemAllocPerProjectRegion"
GLOBAL = "projects/p/locations/global"
INFOS = f"{GLOBAL}/services/run.googleapis.com"
PROVISIONING = "Quota exceeded for total allowable count of GPUs per project per region."
Set = Callable[..., None]


@pytest.fixture
def limited(cloud: Any) -> Iterator[Set]:
    """Changes settings for one test: quota limits by id, other settings by name."""
    before = cloud.call("GET", "/emulator/settings")[1]

    def change(limits: dict[str, dict[str, int]] | None = None, **more: Any) -> None:
        wanted = {"quota_limits": limits} if limits is not None else {}
        assert cloud.call("PUT", "/emulator/settings", wanted | more)[0] == 200

    yield change
    changed = ("quota_limits", "quota_failure_code", "quota_release_seconds", "quota_increases")
    change(**{name: before[name] for name in (*changed, "quota_violation_field")})


@pytest.fixture
def quotas(cloud: Any) -> Any:
    """The real client."""
    return cloudquotas_v1.CloudQuotasClient(
        transport="rest",
        client_options=ClientOptions(api_endpoint=cloud.url),
        credentials=AnonymousCredentials(),
    )


def on_gpu(cloud: Any, most: int = 1, release: str = "a", **fields: Any) -> Any:
    """A template on one L4 without zonal redundancy."""
    limits = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    template = cloud.template(release, container={"resources": {"limits": limits}}, **fields)
    template.node_selector = run_v2.NodeSelector(accelerator="nvidia-l4")
    template.gpu_zonal_redundancy_disabled = True
    template.scaling = run_v2.RevisionScaling(max_instance_count=most)
    return template


def violation(refused: exceptions.BadRequest) -> dict[str, str]:
    return dict(refused.response.json()["error"]["details"][0]["fieldViolations"][0])


def values(info: Any) -> list[tuple[str, int]]:
    return [(row.dimensions.get("region", ""), row.details.value) for row in info.dimensions_infos]


def test_the_real_client_reads_a_limit_of_a_region_and_of_all_others(
    quotas: Any, limited: Set
) -> None:
    limited({L4: {"default": 3, "us-central1": 5}})

    info = quotas.get_quota_info(name=f"{INFOS}/quotaInfos/{L4}", retry=None)

    assert info.metric == "run.googleapis.com/nvidia_l4_gpu_allocation_no_zonal_redundancy"
    assert values(info) == [("us-central1", 5), ("", 3)]
    assert "us-central1" not in info.dimensions_infos[1].applicable_locations


def test_the_limits_are_three_l4_one_rtx_in_thousandths_and_no_redundancy(quotas: Any) -> None:
    rows = list(
        quotas.list_quota_infos(
            request=cloudquotas_v1.ListQuotaInfosRequest(parent=INFOS, page_size=4), retry=None
        )
    )

    defaults = {info.quota_id: values(info)[-1][1] for info in rows}
    assert len(rows) == 6
    assert (defaults[L4], defaults[RTX], defaults[L4_REDUNDANT]) == (3, 1000, 0)
    assert (defaults[CPU], defaults[MEMORY]) == (200_000, 400 << 30)


def test_a_quota_that_is_not_imitated_is_not_found(quotas: Any) -> None:
    with pytest.raises(exceptions.NotFound):
        quotas.get_quota_info(name=f"{INFOS}/quotaInfos/Nothing", retry=None)
    with pytest.raises(exceptions.NotFound):
        quotas.get_quota_info(name=f"{GLOBAL}/services/x.com/quotaInfos/{L4}", retry=None)


def ask_for(quotas: Any, value: int, region: str) -> Any:
    preference = cloudquotas_v1.QuotaPreference(
        service="run.googleapis.com",
        quota_id=L4,
        dimensions={"region": region},
        quota_config=cloudquotas_v1.QuotaConfig(preferred_value=value),
        contact_email="ops@example.com",
    )
    return quotas.create_quota_preference(
        parent=GLOBAL, quota_preference=preference, quota_preference_id=f"l4-{region}", retry=None
    )


def test_a_request_for_more_is_granted_nothing_as_really_seen(quotas: Any) -> None:
    made = ask_for(quotas, 8, "denied1")

    with pytest.raises(exceptions.Conflict):
        ask_for(quotas, 9, "denied1")

    again = quotas.get_quota_preference(name=f"{GLOBAL}/quotaPreferences/l4-denied1", retry=None)
    assert again == made
    assert (again.quota_config.preferred_value, again.quota_config.granted_value) == (8, 0)


def test_a_granted_request_changes_the_limit(cloud: Any, quotas: Any, limited: Set) -> None:
    limited(quota_increases="granted")

    made = ask_for(quotas, 8, "granted1")

    info = quotas.get_quota_info(name=f"{INFOS}/quotaInfos/{L4}", retry=None)
    assert made.quota_config.granted_value == 8
    assert ("granted1", 8) in values(info)
    assert info.quota_increase_eligibility.is_eligible


def test_a_request_that_is_pending_says_so(quotas: Any, limited: Set) -> None:
    limited(quota_increases="pending")

    made = ask_for(quotas, 8, "pending1")

    assert made.reconciling
    assert "granted_value" not in made.quota_config


@pytest.mark.parametrize("path", ["quota_limits", "secrets"])
def test_a_table_of_settings_with_a_wrong_value_is_refused(cloud: Any, path: str) -> None:
    status, answer = cloud.call("PUT", "/emulator/settings", {path: {L4: {"default": None}}})

    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_more_instances_than_gpus_are_refused_per_service_and_not_summed(cloud: Any) -> None:
    cloud.create("one", on_gpu(cloud, 3))

    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.create("two", on_gpu(cloud, 4))
    cloud.create("two", on_gpu(cloud, 2))

    text = violation(refused.value)["description"]
    assert "Max instances must be set to 3 or fewer in order to set GPU requirements." in text
    assert f"Quota violated:\n{L4} requested: 4 allowed: 3" in text
    assert violation(refused.value)["field"] == "template.scaling.max_instance_count"
    assert refused.value.response.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_the_smaller_maximum_of_the_service_counts(cloud: Any) -> None:
    scaling = run_v2.ServiceScaling(max_instance_count=3)

    made = cloud.create("chat", on_gpu(cloud, 50), scaling=scaling)
    made.scaling.max_instance_count = 9
    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.update(made, "scaling")

    assert violation(refused.value)["field"] == "scaling.max_instance_count"


def test_the_field_that_is_blamed_is_a_setting(cloud: Any, limited: Set) -> None:
    limited(quota_violation_field="template.scaling.maxInstanceCount")

    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.create("chat", on_gpu(cloud, 4))

    assert violation(refused.value)["field"] == "template.scaling.maxInstanceCount"


def test_redundancy_is_another_quota_and_there_is_none_of_it(cloud: Any) -> None:
    template = on_gpu(cloud)
    template.gpu_zonal_redundancy_disabled = None

    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.create("chat", template)

    text = violation(refused.value)["description"]
    assert text.startswith("You do not have quota for using GPUs with zonal redundancy.")
    assert "g.co/cloudrun/gpu-quota" in text


def test_rtx_quota_of_1000_is_one_gpu(cloud: Any) -> None:
    template = on_gpu(cloud, 2)
    limits = {"cpu": "20", "memory": "80Gi", "nvidia.com/gpu": "1"}
    template.containers[0].resources.limits = limits
    template.node_selector.accelerator = "nvidia-rtx-pro-6000"

    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.create("chat", template)

    assert f"{RTX} requested: 2 allowed: 1" in violation(refused.value)["description"]


def test_an_instance_larger_than_the_memory_pool_may_have_none(cloud: Any, limited: Set) -> None:
    limited({MEMORY: {"default": 10 << 30}})

    with pytest.raises(exceptions.BadRequest) as refused:
        cloud.create("chat", on_gpu(cloud))

    text = violation(refused.value)["description"]
    assert "Max instances must be set to 0 or fewer to set the requested total memory." in text
    assert f"{MEMORY} requested: {16 << 30} allowed: {10 << 30}" in text


def test_a_maximum_nobody_asked_for_is_what_the_pools_have_room_for(
    cloud: Any, limited: Set
) -> None:
    limited({CPU: {"l": 5_500}})

    made = cloud.create("chat")
    made.template.scaling.max_instance_count = 6
    with pytest.raises(exceptions.BadRequest, match="to set the requested total CPU"):
        cloud.update(made, "template")

    assert cloud.get("chat").template.scaling.max_instance_count == 5


def test_traffic_moves_under_a_limit_that_was_lowered(cloud: Any, limited: Set) -> None:
    made = cloud.create("chat", on_gpu(cloud, 3, revision="chat-a"))
    limited({L4: {"default": 1}})
    made.traffic = [
        run_v2.TrafficTarget(
            type_=run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION,
            revision="chat-a",
            percent=100,
        )
    ]

    made = cloud.update(made, "traffic")

    assert made.traffic[0].revision == "chat-a"


@pytest.mark.parametrize(
    ("code", "error"), [(13, exceptions.InternalServerError), (8, exceptions.ResourceExhausted)]
)
def test_a_warm_service_cannot_roll_with_a_quota_of_one(
    cloud: Any, limited: Set, code: int, error: type[Exception]
) -> None:
    limited({L4: {"default": 1}}, quota_failure_code=code)
    scaling = run_v2.ServiceScaling(min_instance_count=1)
    made = cloud.create("chat", on_gpu(cloud), scaling=scaling)
    made.template = on_gpu(cloud, release="b", revision="chat-b")

    with pytest.raises(error) as failed:
        cloud.update(made, "template")

    text = f"Revision 'chat-b' is not ready and cannot serve traffic. {PROVISIONING}"
    now = cloud.get("chat")
    assert text in str(failed.value)
    assert now.terminal_condition.message == text
    assert now.latest_ready_revision.endswith("/chat-00001-" + now.latest_ready_revision[-3:])
    assert ask(now.uri)["release"] == "a"


def test_a_slot_is_free_again_when_its_holder_is_deleted_and_not_at_once(
    cloud: Any, limited: Set
) -> None:
    limited({L4: {"default": 1}}, quota_release_seconds=1.0)
    cloud.create("holder", on_gpu(cloud))
    with pytest.raises(exceptions.GoogleAPICallError, match=PROVISIONING):
        cloud.create("wants", on_gpu(cloud))

    cloud.delete("holder")
    with pytest.raises(exceptions.GoogleAPICallError, match=PROVISIONING):
        cloud.create("early", on_gpu(cloud))

    def placed() -> bool:
        name = f"late{len(list(cloud.services.list_services(parent=PARENT, retry=None)))}"
        try:
            return bool(cloud.create(name, on_gpu(cloud)).uri)
        except exceptions.GoogleAPICallError:
            return False

    eventually(placed, 6)


def secret_that_is_missing() -> Any:
    ref = run_v2.SecretKeySelector(secret="nobody", version="1")
    return run_v2.EnvVar(name="TOKEN", value_source=run_v2.EnvVarSource(secret_key_ref=ref))


@pytest.mark.parametrize("broken", [run_v2.EnvVar(name="MODE", value="exit"), None])
def test_an_instance_that_never_started_holds_nothing(
    cloud: Any, limited: Set, broken: Any
) -> None:
    limited({L4: {"default": 1}})
    template = on_gpu(cloud)
    template.containers[0].env.append(broken or secret_that_is_missing())

    with pytest.raises(exceptions.GoogleAPICallError, match=r"exit|secret"):
        cloud.create("bad", template)

    assert ask(cloud.create("good", on_gpu(cloud)).uri)["release"] == "a"


def test_over_demand_waits_and_is_then_turned_away(cloud: Any, limited: Set) -> None:
    made = cloud.create("chat", on_gpu(cloud, 3, max_instance_request_concurrency=1))
    limited({L4: {"default": 1}})

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(fetch, made.uri + "/sleep/3") for _ in range(2)]
        statuses = sorted(answer.result()[0] for answer in answers)

    assert statuses == [200, 429]


def test_what_needs_no_gpu_is_not_counted(cloud: Any, limited: Set) -> None:
    limited({L4: {"default": 0}})

    made = cloud.create("chat", scaling=run_v2.ServiceScaling(min_instance_count=2))

    assert ask(made.uri)["release"] == "a"
