"""Ordered faults: which requests they strike, how often, and what is true afterwards."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from tests.emulator.cloud.embedded import PARENT, ask, fetch
from tests.emulator.cloud.test_facts_state import (
    CHAT,
    SERVICES,
    create,
    done,
    patch,
    revisions,
    row,
    template,
)

LABELS = f"{CHAT}?updateMask=labels"


def order(cloud: Any, do: str, **fields: Any) -> None:
    answer = cloud.call("POST", "/emulator/faults", {"do": do, **fields})
    assert answer[0] == 200, answer


def statuses(cloud: Any, count: int) -> list[int]:
    return [cloud.call("GET", SERVICES)[0] for _ in range(count)]


def test_every_third_request_is_struck_after_two_that_pass(cloud: Any) -> None:
    order(cloud, "status", path="services", after=2, every=3, times=2)

    seen = statuses(cloud, 10)

    assert seen == [200, 200, 200, 200, 503, 200, 200, 503, 200, 200]
    assert cloud.call("GET", "/emulator/faults")[1] == {"faults": []}


def test_a_chance_with_a_seed_strikes_the_same_requests_again(cloud: Any) -> None:
    runs = []
    for _ in range(2):
        order(cloud, "status", probability=0.3, seed=7, times=None, error_status="ABORTED")
        runs.append(statuses(cloud, 30))
        cloud.call("DELETE", "/emulator/faults")

    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 409}
    assert 3 <= runs[0].count(409) <= 16


@pytest.mark.parametrize(
    ("name", "status"),
    [("ABORTED", 409), ("RESOURCE_EXHAUSTED", 429), ("INTERNAL", 500), ("UNAVAILABLE", 503)],
)
def test_a_code_says_its_http_status_by_itself(cloud: Any, name: str, status: int) -> None:
    order(cloud, "status", error_status=name)

    answer = cloud.call("GET", SERVICES)

    assert (answer[0], answer[1]["error"]["status"]) == (status, name)


def test_of_the_orders_that_decide_a_request_each_has_one_of_its_own(cloud: Any) -> None:
    create(cloud)
    order(cloud, "drop", method="PATCH", path="chat")
    order(cloud, "status", method="PATCH", path="chat", error_status="ABORTED")

    with pytest.raises(http.client.RemoteDisconnected):
        cloud.call("PATCH", LABELS, {"labels": {"a": "1"}})
    second = cloud.call("PATCH", LABELS, {"labels": {"a": "2"}})[0]

    assert second == 409
    assert cloud.call("GET", CHAT)[1]["labels"] == {"a": "1"}


def test_a_cut_request_was_never_carried_out(cloud: Any) -> None:
    create(cloud)
    order(cloud, "cut", method="PATCH", path="chat")

    with pytest.raises(http.client.RemoteDisconnected):
        cloud.call("PATCH", LABELS, {"labels": {"a": "1"}})

    assert cloud.call("GET", CHAT)[1]["generation"] == "1"


def test_a_refusal_may_be_lost_as_well(cloud: Any) -> None:
    order(cloud, "drop", method="GET", path="nowhere")

    with pytest.raises(http.client.RemoteDisconnected):
        cloud.call("GET", f"{SERVICES}/nowhere")


def test_an_endless_operation_is_not_done_though_its_work_is(cloud: Any) -> None:
    create(cloud)
    order(cloud, "endless", method="PATCH", path="chat")

    name = cloud.call("PATCH", LABELS, {"labels": {"a": "1"}})[1]["name"]
    waited = cloud.call("POST", f"/v2/{name}:wait", {"timeout": "0.5s"})[1]
    later = patch(cloud, "labels", labels={"a": "2"})

    assert waited["done"] is False
    assert cloud.call("GET", f"/v2/{name}")[1]["done"] is False
    assert (later["observedGeneration"], later["labels"]) == ("3", {"a": "2"})


def test_an_unready_revision_stays_so_and_the_old_one_can_be_pinned(cloud: Any) -> None:
    create(cloud, template=template(revision="chat-a"))
    order(cloud, "unready", method="PATCH", path="chat")
    wish = {"template": template("b", revision="chat-b")}

    name = cloud.call("PATCH", f"{CHAT}?updateMask=template", wish)[1]["name"]
    waited = cloud.call("POST", f"/v2/{name}:wait", {"timeout": "0.5s"})[1]
    held = cloud.call("GET", CHAT)[1]
    pinned = patch(cloud, "traffic", traffic=[row("chat-a", 100)])

    assert waited["done"] is False and held["reconciling"] is True
    assert held["latestReadyRevision"].endswith("/chat-a")
    assert (held["generation"], held["observedGeneration"]) == ("2", "1")
    assert pinned["terminalCondition"]["state"] == "CONDITION_SUCCEEDED"
    assert ask(pinned["uri"])["release"] == "a"
    revision = cloud.call("GET", f"{CHAT}/revisions/chat-b")[1]
    assert revision["reconciling"] is True
    assert revision["conditions"][0]["state"] == "CONDITION_RECONCILING"


def test_traffic_to_latest_waits_for_an_unready_revision_and_a_new_one_frees_it(
    cloud: Any,
) -> None:
    create(cloud)
    order(cloud, "unready", method="PATCH", path="chat")
    cloud.call("PATCH", f"{CHAT}?updateMask=template", {"template": template("b")})

    name = cloud.call("PATCH", LABELS, {"labels": {"a": "1"}})[1]["name"]
    waited = cloud.call("POST", f"/v2/{name}:wait", {"timeout": "0.5s"})[1]
    newer = patch(cloud, "template", template=template("c"))

    assert waited["done"] is False
    assert ask(newer["uri"])["release"] == "c"
    assert len(revisions(cloud)) == 3


def test_an_unready_revision_with_a_time_fails_like_one_that_never_listens(cloud: Any) -> None:
    service = create(cloud)
    order(cloud, "unready", method="PATCH", path="chat", seconds=0.2)

    name = cloud.call("PATCH", f"{CHAT}?updateMask=template", {"template": template("b")})[1][
        "name"
    ]
    ended = cloud.call("POST", f"/v2/{name}:wait", {"timeout": "9s"})[1]

    now = cloud.call("GET", CHAT)[1]
    assert ended["error"]["code"] == 9 and "PORT=8080" in ended["error"]["message"]
    assert now["terminalCondition"]["revisionReason"] == "HEALTH_CHECK_CONTAINER_ERROR"
    assert ask(service["uri"])["release"] == "a"


def test_an_unready_revision_stays_so_over_a_restart(own: Any) -> None:
    own.start()
    own.build("repo/app:v1")
    create(own)
    order(own, "unready", method="PATCH", path="chat")
    own.call("PATCH", f"{CHAT}?updateMask=template", {"template": template("b")})

    own.kill()
    own.start()

    assert own.call("GET", CHAT)[1]["reconciling"] is True
    assert own.call("GET", "/emulator/faults")[1] == {"faults": []}
    done(own, own.call("DELETE", CHAT))


@pytest.mark.parametrize(
    "body",
    [
        {"do": "explode"},
        {"do": "status", "tims": 3},
        {"do": "status", "times": 0},
        {"do": "status", "times": "3"},
        {"do": "status", "times": True},
        {"do": "status", "every": 0},
        {"do": "status", "after": -1},
        {"do": "status", "probability": 0},
        {"do": "status", "probability": 1.1},
        {"do": "status", "error_status": "TEAPOT"},
        {"do": "status", "status": 200},
        {"do": "status", "path": "("},
        {"do": "latency"},
        {"do": "latency", "seconds": 4000},
        {"do": "status", "hits": 3},
    ],
)
def test_an_order_that_makes_no_sense_is_refused(cloud: Any, body: Any) -> None:
    status, _ = cloud.call("POST", "/emulator/faults", body)

    assert (status, cloud.call("GET", "/emulator/faults")[1]) == (400, {"faults": []})


def test_the_own_paths_of_the_embedded_cloud_are_never_struck(cloud: Any) -> None:
    order(cloud, "status", times=None)

    assert fetch(cloud.url + "/emulator/status")[0] == 200
    assert cloud.call("GET", f"/v2/{PARENT}/services")[0] == 503
