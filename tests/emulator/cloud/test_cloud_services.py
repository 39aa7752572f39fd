"""Cloud Run v2 through the real client: revisions, traffic, conditions, conflicts, refusals."""

from __future__ import annotations

import time
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import run_v2

from tests.emulator.cloud.embedded import PARENT, ask, eventually, fetch, wait

State = run_v2.Condition.State
LATEST = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION


def to(revision: str, percent: int = 0, tag: str = "") -> Any:
    return run_v2.TrafficTarget(type_=REVISION, revision=revision, percent=percent, tag=tag)


def short(name: str) -> str:
    return name.split("/")[-1]


def test_a_created_service_serves_all_traffic_from_its_first_revision(cloud: Any) -> None:
    service = cloud.create("chat")

    answer = ask(service.uri)

    assert answer["revision"] == short(service.latest_ready_revision)
    assert service.latest_ready_revision == service.latest_created_revision
    assert service.terminal_condition.state == State.CONDITION_SUCCEEDED
    assert service.generation == service.observed_generation == 1
    assert not service.reconciling
    assert {c.type_ for c in service.conditions} == {"RoutesReady", "ConfigurationsReady"}


def test_the_container_sees_the_contract_and_nothing_of_the_host(cloud: Any) -> None:
    service = cloud.create("chat")

    answer = ask(service.uri)

    assert answer["env"]["K_SERVICE"] == answer["env"]["K_CONFIGURATION"] == "chat"
    assert answer["env"]["FROM_IMAGE"] == "yes"
    assert set(answer["env"]) == {
        "PORT",
        "K_SERVICE",
        "K_REVISION",
        "K_CONFIGURATION",
        "HOME",
        "LANG",
        "PATH",
        "GCE_METADATA_HOST",
        "FROM_IMAGE",
        "RELEASE",
    }
    assert answer["args"] == ["from-cmd"]
    assert answer["cwd"].endswith("/srv")


def test_args_replace_cmd_and_a_command_drops_it(cloud: Any) -> None:
    with_args = cloud.create("one", cloud.template(container={"args": ["x", "y"]}))
    with_command = cloud.create("two", cloud.template(container={"command": ["./app.py"]}))

    assert ask(with_args.uri)["args"] == ["x", "y"]
    assert ask(with_command.uri)["args"] == []


def test_a_program_outside_the_image_is_refused(cloud: Any) -> None:
    with pytest.raises(exceptions.FailedPrecondition, match=r"does not exist"):
        cloud.create("chat", cloud.template(container={"command": ["/../../bin/sleep", "9"]}))


def test_only_a_changed_template_makes_a_revision(cloud: Any) -> None:
    service = cloud.create("chat")
    first = service.latest_created_revision

    service.labels["team"] = "a"
    labelled = cloud.update(service, "labels")
    equal = cloud.update(labelled, "template")
    equal.template.containers[0].env[0].value = "b"
    changed = cloud.update(equal, "template")

    assert labelled.latest_created_revision == equal.latest_created_revision == first
    assert changed.latest_created_revision != first
    assert short(changed.latest_created_revision).startswith("chat-00002-")
    assert ask(changed.uri)["release"] == "b"


def test_revisions_are_listed_newest_first_with_their_image_resolved(cloud: Any) -> None:
    service = cloud.create("chat")
    service.template = cloud.template("b")
    cloud.update(service, "template")

    rows = list(cloud.revisions.list_revisions(parent=f"{PARENT}/services/-", retry=None))

    assert [short(r.name)[:10] for r in rows] == ["chat-00002", "chat-00001"]
    assert rows[0].containers[0].image.startswith("repo/app@sha256:")
    assert rows[0].max_instance_request_concurrency == 80


def test_a_revision_name_reused_with_another_template_conflicts(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-r1"))
    assert short(service.latest_created_revision) == "chat-r1"

    service.template.containers[0].env[0].value = "b"
    with pytest.raises(exceptions.Conflict) as caught:
        cloud.update(service, "template")

    error = caught.value.response.json()["error"]
    assert error["status"] == "ALREADY_EXISTS"
    assert "with different configuration already exists" in error["message"]


def test_a_name_used_twice_with_the_same_template_is_the_same_revision(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-r1"))
    service.template = cloud.template("b", revision="chat-r2")
    service = cloud.update(service, "template")

    service.template = cloud.template(revision="chat-r1")
    back = cloud.update(service, "template")

    names = [short(r.name) for r in cloud.revisions.list_revisions(parent=back.name, retry=None)]
    assert names == ["chat-r2", "chat-r1"]


def test_a_stale_etag_is_aborted_and_changes_nothing(cloud: Any) -> None:
    stale = cloud.create("chat")
    cloud.update(stale, "labels")
    stale.template = cloud.template("b")

    with pytest.raises(exceptions.Conflict) as caught:
        cloud.update(stale, "template")

    error = caught.value.response.json()["error"]
    assert error["status"] == "ABORTED"
    assert "Conflict for resource 'chat': version '" in error["message"]
    assert ask(cloud.get("chat").uri)["release"] == "a"


def test_a_failed_newest_revision_leaves_traffic_on_the_last_ready_one(cloud: Any) -> None:
    service = cloud.create("chat")
    good = service.latest_ready_revision
    service.template = cloud.template("b", env={"MODE": "exit"})

    with pytest.raises(exceptions.FailedPrecondition, match="listen on the port") as caught:
        cloud.update(service, "template")

    now = cloud.get("chat")
    assert "the engine is out of memory" in str(caught.value)
    assert ask(now.uri)["release"] == "a"
    assert now.latest_ready_revision == good != now.latest_created_revision
    assert now.terminal_condition.state == State.CONDITION_FAILED
    assert now.observed_generation == 1 and now.generation == 2
    reason = run_v2.Condition.RevisionReason.HEALTH_CHECK_CONTAINER_ERROR
    assert now.terminal_condition.revision_reason == reason


def test_a_container_that_never_listens_fails_when_its_probe_gives_up(cloud: Any) -> None:
    once = {"period_seconds": 1, "timeout_seconds": 1, "failure_threshold": 1}
    probe = run_v2.Probe(tcp_socket=run_v2.TCPSocketAction(), **once)
    silent = cloud.template(env={"MODE": "silent"}, container={"startup_probe": probe})

    began = time.monotonic()
    with pytest.raises(exceptions.FailedPrecondition, match="PORT=8080"):
        cloud.create("chat", silent)

    assert 0.9 < time.monotonic() - began < 3.5
    assert fetch(cloud.get("chat").uri + "/")[0] == 404


def test_an_http_probe_waits_for_a_good_status(cloud: Any) -> None:
    get = run_v2.HTTPGetAction(path="/health")
    probe = run_v2.Probe(http_get=get, period_seconds=1, timeout_seconds=1, failure_threshold=5)

    service = cloud.create("chat", cloud.template(container={"startup_probe": probe}))

    assert ask(service.uri)["release"] == "a"


def test_a_missing_image_fails_with_not_found(cloud: Any) -> None:
    with pytest.raises(exceptions.NotFound, match=r"Image 'repo/none:v9' not found\."):
        cloud.create("chat", cloud.template(image="repo/none:v9"))


def test_traffic_to_latest_after_a_failed_deploy_repeats_its_error(cloud: Any) -> None:
    service = cloud.create("chat")
    old = short(service.latest_ready_revision)
    service.template = cloud.template("b", env={"MODE": "exit"})
    with pytest.raises(exceptions.FailedPrecondition):
        cloud.update(service, "template")

    service = cloud.get("chat")
    with pytest.raises(exceptions.FailedPrecondition, match="listen on the port"):
        cloud.update(service, "traffic")
    service = cloud.get("chat")
    service.traffic = [to(old, 100)]
    pinned = cloud.update(service, "traffic")

    assert pinned.terminal_condition.state == State.CONDITION_SUCCEEDED
    assert ask(pinned.uri)["release"] == "a"


def test_a_tagged_candidate_has_its_own_url_and_no_traffic(cloud: Any) -> None:
    service = cloud.create("chat")
    old = short(service.latest_ready_revision)
    service.template = cloud.template("b", revision="chat-new")
    service.traffic = [to(old, 100), to("chat-new", tag="canary")]

    service = cloud.update(service, "template,traffic")

    tagged = next(t for t in service.traffic_statuses if t.tag == "canary")
    assert ask(tagged.uri)["release"] == "b"
    assert ask(service.uri)["release"] == "a"
    revision = cloud.revisions.get_revision(name=f"{service.name}/revisions/chat-new")
    ready = {c.type_: c for c in revision.conditions}
    assert ready["Ready"].state == State.CONDITION_SUCCEEDED
    assert ready["Active"].state == State.CONDITION_FAILED
    assert ready["Active"].severity == run_v2.Condition.Severity.INFO


def test_traffic_is_split_by_percent(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.template = cloud.template("b", revision="chat-b")
    service.traffic = [to("chat-a", 80), to("chat-b", 20)]
    service = cloud.update(service, "template,traffic")

    answers = [ask(service.uri)["release"] for _ in range(150)]

    assert 10 <= answers.count("b") <= 55


def test_a_pin_is_sticky_until_traffic_goes_to_latest(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.traffic = [to("chat-a", 100)]
    service.template.revision = ""
    service = cloud.update(service, "traffic")
    service.template = cloud.template("b")
    service = cloud.update(service, "template")
    assert ask(service.uri)["release"] == "a"

    service.traffic = [run_v2.TrafficTarget(type_=LATEST, percent=100)]
    service = cloud.update(service, "traffic")

    assert ask(service.uri)["release"] == "b"


def test_traffic_to_a_revision_that_is_not_ready_changes_nothing(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.template = cloud.template("b", revision="chat-b", env={"MODE": "exit"})
    with pytest.raises(exceptions.FailedPrecondition):
        cloud.update(service, "template")
    service = cloud.get("chat")
    shown = service.traffic_statuses
    service.traffic = [to("chat-b", 100)]

    with pytest.raises(exceptions.FailedPrecondition, match="'chat-b' is not ready and cannot"):
        cloud.update(service, "traffic")

    assert cloud.get("chat").traffic_statuses == shown
    assert ask(service.uri)["release"] == "a"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([to("chat-a", 90)], "should be 100"),
        ([to("chat-a", 100), to("chat-a", 0, "x"), to("chat-a", 0, "x")], "duplicate tag"),
        ([run_v2.TrafficTarget(type_=REVISION, percent=100)], "if and only if traffic type is"),
        ([to("chat-a", 100), to("chat-a", tag="t" * 43)], "cannot exceed 46 characters"),
        ([to("chat-zzz", 100)], "not found"),
    ],
)
def test_a_wrong_split_is_refused_at_once(cloud: Any, rows: Any, text: str) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.traffic = rows

    with pytest.raises(exceptions.BadRequest, match=text):
        cloud.update(service, "traffic")

    assert cloud.get("chat").generation == 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"container": {"env": [run_v2.EnvVar(name="PORT", value="1")]}}, "reserved env names"),
        ({"scaling": {"min_instance_count": 3, "max_instance_count": 2}}, "greater than or equal"),
        ({"timeout": "3601s"}, "one hour"),
        ({"max_instance_request_concurrency": 1001}, "between 0 and 1000"),
        ({"container": {"resources": {"limits": {"cpu": "3"}}}}, "Must be equal to one of"),
        ({"container": {"resources": {"limits": {"memory": "5Gi"}}}}, "container memory"),
        ({"container": {"resources": {"limits": {"nvidia.com/gpu": "2"}}}}, "only be set to 1"),
        ({"labels": {"run.googleapis.com/x": "y"}}, "not supported"),
        ({"revision": "other-1"}, "prefixed"),
    ],
)
def test_a_wrong_template_is_refused_at_once(cloud: Any, fields: Any, text: str) -> None:
    if "env" in fields.get("container", {}):
        env = fields["container"].pop("env")
        template = cloud.template(**fields)
        template.containers[0].env = env
        fields["container"]["env"] = env
    else:
        template = cloud.template(**fields)

    with pytest.raises(exceptions.BadRequest, match=text):
        cloud.create("chat", template)

    with pytest.raises(exceptions.NotFound):
        cloud.get("chat")


def test_an_l4_gpu_service_of_the_right_shape_is_taken(cloud: Any) -> None:
    limits = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    template = cloud.template(container={"resources": {"limits": limits}})
    template.node_selector = run_v2.NodeSelector(accelerator="nvidia-l4")
    template.gpu_zonal_redundancy_disabled = True
    template.scaling = run_v2.RevisionScaling(max_instance_count=1)

    service = cloud.create("chat", template)

    assert service.template.containers[0].resources.cpu_idle is False
    assert service.template.gpu_zonal_redundancy_disabled is True


def test_validate_only_checks_and_changes_nothing(cloud: Any) -> None:
    request = run_v2.CreateServiceRequest(
        parent=PARENT,
        service=run_v2.Service(template=cloud.template()),
        service_id="chat",
        validate_only=True,
    )

    operation = cloud.services.create_service(request, retry=None)

    assert operation.operation.done is False
    assert cloud.call("GET", f"/v2/{operation.operation.name}")[0] == 404
    assert cloud.call("GET", f"/v2/{PARENT}/services/chat")[0] == 404


def test_allow_missing_creates_what_is_not_there(cloud: Any) -> None:
    service = run_v2.Service(name=f"{PARENT}/services/chat", template=cloud.template())
    service.invoker_iam_disabled = True

    made = cloud.update(service, "template,invokerIamDisabled", allow_missing=True)

    assert ask(made.uri)["release"] == "a"


def test_a_secret_is_read_by_name_and_version(cloud: Any) -> None:
    def template(version: str) -> Any:
        out = cloud.template()
        ref = run_v2.SecretKeySelector(secret="hub", version=version)
        source = run_v2.EnvVarSource(secret_key_ref=ref)
        out.containers[0].env.append(run_v2.EnvVar(name="TOKEN", value_source=source))
        return out

    service = cloud.create("chat", template("3"))
    with pytest.raises(exceptions.GoogleAPICallError, match="secret: hub/versions/9"):
        cloud.create("other", template("9"))

    assert ask(service.uri)["env"]["TOKEN"] == "s3cret"
    reason = cloud.get("other").terminal_condition.reason
    assert reason == run_v2.Condition.CommonReason.SECRETS_ACCESS_CHECK_FAILED


def test_a_serving_revision_cannot_be_deleted_and_an_idle_one_can(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.template = cloud.template("b", revision="chat-b")
    service.traffic = [to("chat-b", 100), to("chat-a", tag="old")]
    service = cloud.update(service, "template,traffic")

    with pytest.raises(exceptions.BadRequest, match="actively serving"):
        cloud.revisions.delete_revision(name=f"{service.name}/revisions/chat-b", retry=None)
    wait(cloud.revisions.delete_revision(name=f"{service.name}/revisions/chat-a", retry=None))

    assert [t.tag for t in cloud.get("chat").traffic_statuses] == [""]


def test_a_deleted_service_is_gone_with_its_processes(cloud: Any) -> None:
    service = cloud.create("chat")
    before = cloud.call("GET", "/emulator/status")[1]["instances"]

    gone = wait(cloud.services.delete_service(name=service.name, retry=None))

    assert gone.delete_time and gone.expire_time
    assert cloud.call("GET", f"/v2/{service.name}")[0] == 404
    eventually(lambda: cloud.call("GET", "/emulator/status")[1]["instances"] == before - 1)


def test_a_service_that_exists_cannot_be_created_again(cloud: Any) -> None:
    cloud.create("chat")

    with pytest.raises(exceptions.Conflict, match="already exists"):
        cloud.create("chat")


def test_services_are_listed_in_pages(cloud: Any) -> None:
    for name in ("a", "b", "c"):
        cloud.create(name)

    request = run_v2.ListServicesRequest(parent=PARENT, page_size=2)
    names = [short(s.name) for s in cloud.services.list_services(request, retry=None)]

    assert names == ["a", "b", "c"]
    with pytest.raises(exceptions.BadRequest):
        list(cloud.services.list_services(parent="projects/p/locations/-", retry=None))


def test_an_iam_policy_is_replaced_only_under_its_current_etag(cloud: Any) -> None:
    name = cloud.create("chat", public=False).name
    policy = cloud.services.get_iam_policy({"resource": name})
    stale = policy.etag
    policy.bindings.add(role="roles/run.invoker", members=["allUsers"])

    new = cloud.services.set_iam_policy({"resource": name, "policy": policy})
    policy.etag = stale
    with pytest.raises(exceptions.Conflict):
        cloud.services.set_iam_policy({"resource": name, "policy": policy})

    assert new.bindings[0].members == ["allUsers"]
    assert ask(cloud.get("chat").uri)["release"] == "a"


def test_asking_again_for_a_failed_revision_fails_again(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    bad = cloud.template("b", revision="chat-b", env={"MODE": "exit"})
    for _ in range(2):
        service = cloud.get("chat")
        service.template = bad
        service.traffic = [to("chat-a", 100)]

        with pytest.raises(exceptions.FailedPrecondition, match="listen on the port"):
            cloud.update(service, "template,traffic")

    assert len(list(cloud.revisions.list_revisions(parent=service.name, retry=None))) == 2
    assert ask(service.uri)["release"] == "a"


def test_a_service_made_again_gets_its_old_url(cloud: Any) -> None:
    before = cloud.create("chat").uri
    cloud.delete("chat")

    after = cloud.create("chat").uri

    assert after == before


def test_an_operation_can_be_waited_for_and_deleted(cloud: Any) -> None:
    body = {"template": {"containers": [{"image": "repo/app:v1"}]}, "invokerIamDisabled": True}
    name = cloud.call("POST", f"/v2/{PARENT}/services?serviceId=chat", body)[1]["name"]

    done = cloud.call("POST", f"/v2/{name}:wait", {"timeout": "10s"})[1]

    assert done["done"] is True
    assert done["response"]["@type"].endswith("google.cloud.run.v2.Service")
    assert done["response"]["generation"] == "1"
    assert cloud.call("DELETE", f"/v2/{name}")[0] == 200
    assert cloud.call("GET", f"/v2/{name}")[0] == 404


def test_updates_of_one_service_are_carried_out_in_their_order(cloud: Any) -> None:
    service = cloud.create("chat")
    operations = []
    for release in ("b", "c", "d"):
        service.template, service.etag = cloud.template(release), ""
        request = run_v2.UpdateServiceRequest(service=service, update_mask="template")
        operations.append(cloud.services.update_service(request, retry=None))

    ends = [wait(operation) for operation in operations]

    assert [e.observed_generation for e in ends] == [2, 3, 4]
    assert ask(service.uri)["release"] == "d"


def test_what_a_mask_names_and_the_body_leaves_out_is_cleared(cloud: Any) -> None:
    service = cloud.create("chat", labels={"a": "b"}, description="x")
    scaling = {"name": service.name, "scaling": {"minInstanceCount": 1}}
    path = f"/v2/{service.name}?updateMask="

    cloud.call("PATCH", path + "labels", {"description": "y"})
    cloud.call("PATCH", path + "scaling.minInstanceCount", scaling)
    eventually(lambda: not cloud.get("chat").reconciling)

    now = cloud.get("chat")
    assert (dict(now.labels), now.description) == ({}, "x")
    assert now.scaling.min_instance_count == 1
    assert cloud.call("PATCH", path + "nonsense", {})[0] == 400
    assert "Cannot find field" in str(cloud.call("PATCH", path + "labels", {"lables": {}})[1])
