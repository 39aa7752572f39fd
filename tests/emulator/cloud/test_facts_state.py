"""How services and revisions of Cloud Run become and look: each test names the fact behind it.

Most revisions here skip their health check, so that no process is started for them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.emulator.cloud.embedded import PARENT, ask, eventually

SERVICES = f"/v2/{PARENT}/services"
CHAT = f"{SERVICES}/chat"
LATEST, REVISION = (f"TRAFFIC_TARGET_ALLOCATION_TYPE_{kind}" for kind in ("LATEST", "REVISION"))


def template(release: str = "a", **fields: Any) -> dict[str, Any]:
    env = [{"name": "RELEASE", "value": release}]
    container = {"image": "repo/app:v1", "env": env}
    return {"containers": [container], "healthCheckDisabled": True, **fields}


def row(revision: str, percent: int = 0, tag: str = "") -> dict[str, Any]:
    """A traffic row as the API writes it, without what is empty."""
    target = {"type": REVISION, "revision": revision, "percent": percent, "tag": tag}
    return {key: value for key, value in target.items() if value}


def done(cloud: Any, answer: tuple[int, Any]) -> dict[str, Any]:
    """What an operation ends with."""
    assert answer[0] == 200, answer
    ended = cloud.call("POST", f"/v2/{answer[1]['name']}:wait", {"timeout": "20s"})[1]
    assert "error" not in ended, ended
    found: dict[str, Any] = ended["response"]
    assert found.pop("@type").startswith("type.googleapis.com/google.cloud.run.v2.")
    return found


def create(cloud: Any, name: str = "chat", **fields: Any) -> dict[str, Any]:
    body = {"template": template(), "invokerIamDisabled": True, **fields}
    return done(cloud, cloud.call("POST", f"{SERVICES}?serviceId={name}", body))


def patch(cloud: Any, mask: str, **body: Any) -> dict[str, Any]:
    return done(cloud, cloud.call("PATCH", f"{CHAT}?updateMask={mask}", body))


def revisions(cloud: Any) -> list[str]:
    rows = cloud.call("GET", f"{CHAT}/revisions")[1].get("revisions", [])
    return [found["name"].split("/")[-1] for found in rows]


@contextlib.contextmanager
def settings(cloud: Any, **values: Any) -> Iterator[None]:
    """Other settings for a while."""
    before = cloud.call("GET", "/emulator/settings")[1]
    assert cloud.call("PUT", "/emulator/settings", values)[0] == 200
    try:
        yield
    finally:
        cloud.call("PUT", "/emulator/settings", {name: before[name] for name in values})


# Section 1: names, generation, etag.


def test_s1_a_name_that_the_server_gives_is_a_counter_and_three_characters(cloud: Any) -> None:
    create(cloud)

    changed = patch(cloud, "template", template=template("b"))

    name = changed["latestCreatedRevision"].removeprefix(f"{changed['name']}/revisions/")
    assert re.fullmatch(r"chat-00002-[a-z0-9]{3}", name)
    assert "revision" not in changed["template"]


def test_s1_every_wish_raises_the_generation_and_only_templates_make_revisions(
    cloud: Any,
) -> None:
    create(cloud)

    for mask, body in (
        ("labels", {"labels": {"team": "a"}}),
        ("scaling.minInstanceCount", {"scaling": {"minInstanceCount": 0}}),
        ("scaling.maxInstanceCount", {"scaling": {"maxInstanceCount": 3}}),
        ("ingress", {"ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY"}),
        ("traffic", {"traffic": [{"type": LATEST, "percent": 100}]}),
        ("template.containers", {"template": {"containers": template()["containers"]}}),
    ):
        last = patch(cloud, mask, **body)

    assert (last["generation"], last["observedGeneration"]) == ("7", "7")
    assert len(revisions(cloud)) == 1
    assert last["scaling"] == {"maxInstanceCount": 3}


def test_s1_an_etag_holds_the_time_of_the_update_and_the_name(cloud: Any) -> None:
    service = create(cloud)

    inside = service["etag"].strip('"').split("/")

    raw = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in inside]
    assert service["etag"][0] == service["etag"][-1] == '"'
    assert raw[1].decode() == service["name"]
    assert "=" not in service["etag"]
    assert raw[0][0] == 0x08  # field 1 of a Timestamp: its seconds


def test_s1_a_stale_etag_tells_both_versions_in_microseconds_and_changes_nothing(
    cloud: Any,
) -> None:
    first = create(cloud)
    second = patch(cloud, "labels", labels={"a": "b"})

    status, answer = cloud.call(
        "PATCH", f"{CHAT}?updateMask=labels", {"labels": {}, "etag": first["etag"]}
    )

    said = re.fullmatch(
        r"Conflict for resource 'chat': version '(\d{16})' was specified but current version is "
        r"'(\d{16})'\.",
        answer["error"]["message"],
    )
    assert (status, answer["error"]["status"]) == (409, "ABORTED")
    assert said and int(said[1]) < int(said[2])
    assert cloud.call("GET", CHAT)[1] == second


def test_s13_an_equal_template_makes_a_revision_only_where_that_is_set(cloud: Any) -> None:
    create(cloud)

    patch(cloud, "template", template=template())
    before = len(revisions(cloud))
    with settings(cloud, equal_template_makes_revision=True):
        patch(cloud, "template", template=template())

    assert (before, len(revisions(cloud))) == (1, 2)


def test_s1_without_a_mask_what_the_body_leaves_out_is_cleared_or_kept(cloud: Any) -> None:
    create(cloud, labels={"a": "b"}, description="x")
    body = {"template": template(), "invokerIamDisabled": True, "description": "y"}

    with settings(cloud, no_mask_clears=False):
        kept = done(cloud, cloud.call("PATCH", CHAT, body))
    cleared = done(cloud, cloud.call("PATCH", CHAT, body))

    assert (kept["labels"], kept["description"]) == ({"a": "b"}, "y")
    assert "labels" not in cleared


@pytest.mark.parametrize(
    "mask", ["template.scaling.least", "labels.a", "traffic.percent", "etag", "uri", "template."]
)
def test_s1_a_mask_names_known_paths_and_never_looks_into_lists(cloud: Any, mask: str) -> None:
    create(cloud)

    status, answer = cloud.call("PATCH", f"{CHAT}?updateMask={mask}", {})

    assert (status, "update mask path" in answer["error"]["message"]) == (400, True)


# Section 1: operations.


def test_s1_operations_are_listed_newest_first_in_pages(cloud: Any) -> None:
    create(cloud)
    patch(cloud, "labels", labels={"a": "b"})
    path = f"/v2/{PARENT}/operations?pageSize=1"

    first = cloud.call("GET", path)[1]
    second = cloud.call("GET", f"{path}&pageToken={first['nextPageToken']}")[1]

    newest, before = first["operations"][0], second["operations"][0]
    assert newest["metadata"]["generation"] == "2" and before["metadata"]["generation"] == "1"
    assert newest["metadata"] == newest["response"]
    assert newest["name"].startswith(f"{PARENT}/operations/")


def test_s1_validate_only_is_ignored_for_the_global_location(cloud: Any) -> None:
    path = "/v2/projects/p/locations/global/services"

    answer = cloud.call(
        "POST", f"{path}?serviceId=wide&validateOnly=true", {"template": template()}
    )
    done(cloud, answer)
    gone = cloud.call("DELETE", f"{path}/wide?validateOnly=true")

    assert gone[1]["done"] is True
    assert cloud.call("GET", f"{path}/wide")[0] == 404


def test_s1_a_dry_update_or_delete_changes_nothing_and_cannot_be_fetched(cloud: Any) -> None:
    before = create(cloud)

    answers = [
        cloud.call("PATCH", f"{CHAT}?updateMask=labels&validateOnly=true", {"labels": {"a": "b"}}),
        cloud.call("DELETE", f"{CHAT}?validateOnly=true"),
    ]

    assert [answer[1]["done"] for answer in answers] == [False, False]
    assert [cloud.call("GET", f"/v2/{a[1]['name']}")[0] for a in answers] == [404, 404]
    assert cloud.call("GET", CHAT)[1] == before


# Section 1: what is seen on read.


def test_s1_the_defaults_of_the_server_are_seen_on_read(cloud: Any) -> None:
    body = {"template": {"containers": [{"image": "repo/app:v1"}]}}

    service = done(cloud, cloud.call("POST", f"{SERVICES}?serviceId=chat", body))

    filled = service["template"]
    assert service["traffic"] == service["trafficStatuses"] == [{"type": LATEST, "percent": 100}]
    assert (service["ingress"], service["launchStage"]) == ("INGRESS_TRAFFIC_ALL", "GA")
    assert (filled["timeout"], filled["maxInstanceRequestConcurrency"]) == ("300s", 80)
    assert filled["serviceAccount"] == "123456789012-compute@developer.gserviceaccount.com"
    assert filled["scaling"] == {"maxInstanceCount": 100}
    assert filled["containers"] == [
        {
            "image": "repo/app:v1",
            "ports": [{"name": "http1", "containerPort": 8080}],
            "resources": {"limits": {"cpu": "1000m", "memory": "512Mi"}, "cpuIdle": True},
            "startupProbe": {
                "timeoutSeconds": 240,
                "periodSeconds": 240,
                "failureThreshold": 1,
                "tcpSocket": {"port": 8080},
            },
        }
    ]


def test_s0_resources_without_cpu_idle_mean_a_cpu_that_is_always_on(cloud: Any) -> None:
    container = {"image": "repo/app:v1", "resources": {"limits": {"cpu": "2"}}}

    service = create(cloud, template={"containers": [container], "healthCheckDisabled": True})

    resources = service["template"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "2", "memory": "512Mi"}}


def test_s3_below_one_cpu_the_concurrency_is_one(cloud: Any) -> None:
    resources = {"limits": {"cpu": "500m"}, "cpuIdle": True}
    container = {"image": "repo/app:v1", "resources": resources}

    service = create(cloud, template={"containers": [container], "healthCheckDisabled": True})

    assert service["template"]["maxInstanceRequestConcurrency"] == 1


def test_s1_a_healthy_candidate_at_0_percent_is_ready_though_not_active(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    patch(
        cloud,
        "template,traffic",
        template=template("b", revision="chat-b"),
        traffic=[row("chat-a", 100), row("chat-b", tag="canary")],
    )

    candidate = cloud.call("GET", f"{CHAT}/revisions/chat-b")[1]
    serving = cloud.call("GET", f"{CHAT}/revisions/chat-a")[1]

    seen = {c["type"]: {k: v for k, v in c.items() if k != "type"} for c in candidate["conditions"]}
    for condition in seen.values():
        assert condition.pop("lastTransitionTime")
    assert seen["Ready"] == {"state": "CONDITION_SUCCEEDED", "revisionReason": "RETIRED"}
    retired = {"state": "CONDITION_FAILED", "severity": "INFO", "revisionReason": "RETIRED"}
    assert seen["Active"] == retired
    assert seen["ResourcesAvailable"] == {
        "state": "CONDITION_RECONCILING",
        "revisionReason": "RETIRED",
    }
    assert seen["MinInstancesProvisioned"] == retired | {
        "revisionReason": "MIN_INSTANCES_NOT_PROVISIONED"
    }
    assert {c["state"] for c in serving["conditions"]} == {"CONDITION_SUCCEEDED"}
    assert all("revisionReason" not in c for c in serving["conditions"])


def test_s1_a_new_service_that_fails_has_no_traffic_and_nothing_observed(cloud: Any) -> None:
    body = {"template": template() | {"containers": [{"image": "repo/none:v1"}]}}

    operation = cloud.call("POST", f"{SERVICES}?serviceId=chat", body)[1]
    ended = cloud.call("POST", f"/v2/{operation['name']}:wait", {"timeout": "9s"})[1]

    service = cloud.call("GET", CHAT)[1]
    assert ended["error"] == {"code": 5, "message": "Image 'repo/none:v1' not found."}
    assert (service["generation"], service["observedGeneration"]) == ("1", "0")
    assert service["trafficStatuses"] == [] and "latestReadyRevision" not in service
    assert service["terminalCondition"]["state"] == "CONDITION_FAILED"
    assert service["terminalCondition"]["reason"] == "CONTAINER_MISSING"
    assert "reconciling" not in service


# Section 2: traffic.


def test_s2_a_tag_on_latest_floats_and_rows_of_latest_name_no_revision(cloud: Any) -> None:
    traffic = [{"type": LATEST, "percent": 100}, {"type": LATEST, "tag": "next"}]
    service = create(cloud, traffic=traffic)
    tag_url = service["trafficStatuses"][1]["uri"]
    before = ask(tag_url)["release"]

    after = patch(cloud, "template", template=template("b"))

    assert (before, ask(tag_url)["release"]) == ("a", "b")
    assert after["trafficStatuses"] == [*traffic[:1], traffic[1] | {"uri": tag_url}]


def test_s2_a_row_at_0_percent_for_latest_beside_a_pin_keeps_the_pin(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    pinned = [row("chat-a", 100), {"type": LATEST}]
    patch(cloud, "traffic", traffic=pinned)

    after = patch(cloud, "template", template=template("b"))

    assert after["trafficStatuses"] == pinned
    assert ask(after["uri"])["release"] == "a"


def test_s13_an_unknown_revision_in_traffic_is_refused_or_fails_a_setting(cloud: Any) -> None:
    create(cloud)
    wish = f"{CHAT}?updateMask=traffic", {"traffic": [row("chat-none", 100)]}

    refused = cloud.call("PATCH", *wish)
    with settings(cloud, unknown_revision_in_traffic="fail"):
        operation = cloud.call("PATCH", *wish)[1]
        ended = cloud.call("POST", f"/v2/{operation['name']}:wait", {"timeout": "9s"})[1]

    assert refused[0] == 400
    assert "referenced in traffic not found" in ended["error"]["message"]
    assert cloud.call("GET", CHAT)[1]["trafficStatuses"] == [{"type": LATEST, "percent": 100}]


def test_s1_a_deleted_revision_takes_its_tag_but_never_a_wished_percent(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    bad = template(revision="chat-b") | {"containers": [{"image": "repo/none:v1"}]}
    wish = {"template": bad, "traffic": [row("chat-b", 100), row("chat-b", tag="t")]}
    failed = cloud.call("PATCH", f"{CHAT}?updateMask=template,traffic", wish)[1]
    cloud.call("POST", f"/v2/{failed['name']}:wait", {"timeout": "9s"})

    done(cloud, cloud.call("DELETE", f"{CHAT}/revisions/chat-b"))

    service = cloud.call("GET", CHAT)[1]
    assert service["traffic"] == [row("chat-b", 100)]
    assert ask(service["uri"])["revision"] == "chat-a"


def test_s1_a_tag_left_over_by_a_deleted_revision_fails_later_traffic(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    tagged = [row("chat-b", 100), row("chat-a", tag="old")]
    patch(cloud, "template,traffic", template=template("b", revision="chat-b"), traffic=tagged)
    with settings(cloud, deleted_revision_drops_tag=False):
        done(cloud, cloud.call("DELETE", f"{CHAT}/revisions/chat-a"))

    status, _ = cloud.call("PATCH", f"{CHAT}?updateMask=traffic", {"traffic": tagged})

    assert cloud.call("GET", CHAT)[1]["traffic"] == tagged
    assert status == 400


# Sections 2 and 9: limits.


def test_s9_past_the_limit_the_oldest_revision_that_is_not_addressed_goes(cloud: Any) -> None:
    with settings(cloud, revisions_per_service=3):
        create(cloud, template=template("1", revision="chat-1"))
        patch(
            cloud,
            "template,traffic",
            template=template("2", revision="chat-2"),
            traffic=[row("chat-2", 100), row("chat-1", tag="kept")],
        )
        for release in ("3", "4", "5"):
            patch(cloud, "template", template=template(release, revision=f"chat-{release}"))

    assert revisions(cloud) == ["chat-5", "chat-2", "chat-1"]


def test_s2_past_the_limit_of_tags_the_oldest_without_percent_goes(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    rows = [row("chat-a", 100, "live"), *(row("chat-a", tag=tag) for tag in ("old", "mid", "new"))]

    with settings(cloud, tags_per_region=3):
        service = patch(cloud, "traffic", traffic=rows)

    assert [found["tag"] for found in service["traffic"]] == ["live", "mid", "new"]


def test_s9_a_region_takes_so_many_services(cloud: Any) -> None:
    with settings(cloud, services_per_region=1):
        create(cloud)
        status, answer = cloud.call("POST", f"{SERVICES}?serviceId=two", {"template": template()})

    assert (status, answer["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")


# Section 3: what is kept warm.


def test_s3_the_revision_minimum_keeps_a_listed_revision_warm_and_the_service_minimum_does_not(
    cloud: Any,
) -> None:
    create(cloud, template=template(revision="chat-a"), scaling={"minInstanceCount": 1})
    warm = template("b", revision="chat-b", scaling={"minInstanceCount": 1})
    traffic = [row("chat-a", 100), row("chat-b")]
    patch(cloud, "template,traffic", template=warm, traffic=traffic)
    plain = [*traffic, row("chat-c", tag="t")]
    patch(cloud, "template,traffic", template=template("c", revision="chat-c"), traffic=plain)

    def conditions(name: str) -> dict[str, Any]:
        rows = cloud.call("GET", f"{CHAT}/revisions/{name}")[1]["conditions"]
        return {found["type"]: found["state"] for found in rows}

    eventually(lambda: conditions("chat-b")["MinInstancesProvisioned"] == "CONDITION_SUCCEEDED")
    shown = [cloud.call("GET", f"{CHAT}/revisions/chat-{n}")[1] for n in "abc"]
    assert [found["scalingStatus"] for found in shown] == [
        {"desiredMinInstanceCount": 1},
        {"desiredMinInstanceCount": 1},
        {},
    ]
    assert conditions("chat-c")["Active"] == "CONDITION_FAILED"
    patch(cloud, "traffic", traffic=[row("chat-a", 100)])
    assert conditions("chat-b")["Active"] == "CONDITION_FAILED"


# Section 6.


def test_s6_a_custom_audience_is_one_and_the_url_of_another_service_is_none(cloud: Any) -> None:
    from tests.emulator.cloud.embedded import fetch

    other = create(cloud, "other")["uri"]
    url = create(cloud, invokerIamDisabled=False, customAudiences=["https://chat.example"])["uri"]

    def status(audience: str) -> int:
        path = "/v1/projects/-/serviceAccounts/me@p.iam:generateIdToken"
        token = cloud.call("POST", path, {"audience": audience})[1]["token"]
        return fetch(url + "/", headers={"Authorization": f"Bearer {token}"})[0]

    assert [status(a) for a in ("https://chat.example", url, other)] == [200, 200, 401]


@pytest.mark.parametrize(
    "bindings", ["x", [1], [{"members": ["a"]}], [{"role": "r", "members": "allUsers"}], [None]]
)
def test_s6_a_policy_that_is_none_is_refused(cloud: Any, bindings: Any) -> None:
    create(cloud, invokerIamDisabled=False)

    status, _ = cloud.call("POST", f"{CHAT}:setIamPolicy", {"policy": {"bindings": bindings}})

    assert (status, cloud.call("GET", f"{CHAT}:getIamPolicy")[1]) == (400, {"etag": "ACAB"})


# Section 8.


def test_s8_revisions_are_listed_newest_first_over_pages_and_services(cloud: Any) -> None:
    create(cloud, "a", template=template(revision="a-1"))
    create(cloud, template=template(revision="chat-1"))
    patch(cloud, "template", template=template("2", revision="chat-2"))

    def names(path: str) -> Iterator[str]:
        token = ""
        while True:
            answer = cloud.call("GET", f"{path}/revisions?pageSize=2&pageToken={token}")[1]
            yield from (found["name"].split("/")[-1] for found in answer["revisions"])
            token = answer.get("nextPageToken", "")
            if not token:
                return

    assert list(names(f"{SERVICES}/-")) == ["chat-2", "chat-1", "a-1"]
    assert list(names(CHAT)) == ["chat-2", "chat-1"]


def test_s1_a_duplicate_id_is_said_by_its_status(cloud: Any) -> None:
    create(cloud)

    status, answer = cloud.call("POST", f"{SERVICES}?serviceId=chat", {"template": template()})

    error = answer["error"]
    assert (status, error["status"]) == (409, "ALREADY_EXISTS")
    assert error["message"] == "Resource 'chat' already exists."
    assert json.dumps(error)
