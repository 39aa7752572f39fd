"""The fronts: streaming, identity, queues, timeouts, draining, scaling to and from zero."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from google.cloud import run_v2

from tests.emulator.cloud.embedded import ask, eventually, fetch

REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION


@contextlib.contextmanager
def connect(url: str) -> Iterator[http.client.HTTPConnection]:
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)) as out:
        yield out


def instances(cloud: Any) -> int:
    return int(cloud.call("GET", "/emulator/status")[1]["instances"])


def test_a_stream_passes_chunk_by_chunk(cloud: Any) -> None:
    service = cloud.create("chat")
    times = []

    with connect(service.uri) as connection:
        connection.request("GET", "/sse")
        answer = connection.getresponse()
        while chunk := answer.read1(100):
            times.append((time.monotonic(), chunk))

    assert b"".join(c for _, c in times) == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert times[-1][0] - times[0][0] > 0.4
    assert answer.getheader("Content-Type") == "text/event-stream"


def test_the_front_adds_no_headers_and_drops_those_of_the_connection(cloud: Any) -> None:
    service = cloud.create("chat")
    sent = {"X-Own": "1", "Connection": "X-Hop", "X-Hop": "1", "Accept": "a/b"}

    with connect(service.uri) as connection:
        connection.request("GET", "/?a=%2Fb", headers=sent)
        answer = connection.getresponse()
        got = json.loads(answer.read())

    assert {k.lower() for k in answer.headers} == {"server", "date", "content-length"}
    assert answer.headers["Server"].startswith("BaseHTTP/")
    assert set(got["headers"]) == {"Host", "Accept-Encoding", "X-Own", "Accept", "Connection"}
    assert got["headers"]["Connection"] == "close"


def test_a_large_body_streams_through(cloud: Any) -> None:
    service = cloud.create("chat")

    status, _, body = fetch(service.uri + "/up", method="POST", data=b"x" * (8 << 20))

    assert (status, body) == (201, str(8 << 20).encode())


def test_a_client_that_leaves_ends_the_request_upstream(cloud: Any) -> None:
    template = cloud.template(max_instance_request_concurrency=1)
    template.scaling = run_v2.RevisionScaling(max_instance_count=1)
    service = cloud.create("chat", template)

    with connect(service.uri) as connection:
        connection.request("GET", "/sleep/15")
        time.sleep(0.2)

    assert ask(service.uri)["release"] == "a"


def test_a_private_service_wants_a_token_for_its_own_url(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"), public=False)
    service.traffic = [
        run_v2.TrafficTarget(type_=REVISION, revision="chat-a", percent=100, tag="canary")
    ]
    service = cloud.update(service, "traffic")
    tag_url = service.traffic_statuses[0].uri

    def bearer(audience: str) -> dict[str, str]:
        path = "/v1/projects/-/serviceAccounts/me@p.iam:generateIdToken"
        body = {"audience": audience, "includeEmail": True}
        return {"Authorization": "Bearer " + cloud.call("POST", path, body)[1]["token"]}

    good, wrong = bearer(service.uri), bearer(tag_url)
    serverless = {"X-Serverless-Authorization": good["Authorization"], "Authorization": "Bearer k"}

    assert fetch(service.uri + "/")[0] == 403
    assert fetch(service.uri + "/", headers={"Authorization": "Bearer nonsense"})[0] == 401
    assert fetch(service.uri + "/", headers=good)[0] == 200
    assert fetch(tag_url + "/", headers=good)[0] == 200
    assert fetch(tag_url + "/", headers=wrong)[0] == 401
    assert fetch(service.uri + "/", headers=serverless)[0] == 200


def test_a_container_gets_tokens_from_its_metadata_server(cloud: Any) -> None:
    service = cloud.create("chat", public=False)
    path = "/computeMetadata/v1/instance/service-accounts/default/identity?audience="
    google = {"Metadata-Flavor": "Google"}

    refused = fetch(f"{cloud.url}{path}{service.uri}")[0]
    token = fetch(f"{cloud.url}{path}{service.uri}", headers=google)[2].decode()

    assert refused == 403
    assert fetch(service.uri + "/", headers={"Authorization": f"Bearer {token}"})[0] == 200


def test_a_request_longer_than_the_timeout_gets_504(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(timeout="1s"))

    began = time.monotonic()
    status = fetch(service.uri + "/sleep/5")[0]

    assert status == 504
    assert time.monotonic() - began < 3


def test_requests_over_the_concurrency_start_instances_up_to_the_maximum(cloud: Any) -> None:
    template = cloud.template(max_instance_request_concurrency=1)
    template.scaling = run_v2.RevisionScaling(max_instance_count=2)
    service = cloud.create("chat", template)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(fetch, service.uri + "/sleep/1.6") for _ in range(4)]
        statuses = sorted(f.result()[0] for f in futures)

    assert statuses == [200, 200, 429, 429]


def test_an_instance_that_died_is_replaced_on_the_next_request(cloud: Any) -> None:
    service = cloud.create("chat")
    before = ask(service.uri)["pid"]
    died = fetch(service.uri + "/die", method="GET")[0]

    after = ask(service.uri)["pid"]

    assert died == 503
    assert after != before


def test_no_request_fails_while_traffic_moves(cloud: Any) -> None:
    service = cloud.create("chat", cloud.template(revision="chat-a"))
    service.traffic = [run_v2.TrafficTarget(type_=REVISION, revision="chat-a", percent=100)]
    service.template = cloud.template("b", revision="chat-b")
    service = cloud.update(service, "template,traffic")
    stop, seen = threading.Event(), []

    def load() -> None:
        while not stop.is_set():
            seen.append(fetch(service.uri + "/sleep/0.01")[0])

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for name in ("chat-b", "chat-a", "chat-b"):
        service.traffic = [run_v2.TrafficTarget(type_=REVISION, revision=name, percent=100)]
        service = cloud.update(service, "traffic")
        time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()

    assert len(seen) > 20
    assert set(seen) == {200}


def test_idle_instances_stop_and_the_next_request_starts_one(cloud: Any) -> None:
    cloud.call("PUT", "/emulator/settings", {"idle_seconds": 0.5})
    try:
        before = instances(cloud)
        service = cloud.create("chat")
        eventually(lambda: instances(cloud) <= before)

        assert ask(service.uri)["release"] == "a"
    finally:
        cloud.call("PUT", "/emulator/settings", {"idle_seconds": 900.0})


def test_minimum_instances_are_kept_and_brought_back(cloud: Any) -> None:
    cloud.call("PUT", "/emulator/settings", {"idle_seconds": 0.5})
    try:
        scaling = run_v2.ServiceScaling(min_instance_count=2)
        service = cloud.create("chat", scaling=scaling)
        eventually(lambda: instances(cloud) == 2)
        time.sleep(1.2)
        kept = instances(cloud)
        fetch(service.uri + "/die")

        eventually(lambda: instances(cloud) == 2)
        assert kept == 2
        name = service.latest_ready_revision
        shown = cloud.revisions.get_revision(name=name, retry=None)
        assert shown.scaling_status.desired_min_instance_count == 2
    finally:
        cloud.call("PUT", "/emulator/settings", {"idle_seconds": 900.0})


def test_a_shift_waits_for_a_ready_instance_when_a_minimum_is_asked(cloud: Any) -> None:
    cloud.call("PUT", "/emulator/settings", {"retired_idle_seconds": 0.2})
    try:
        scaling = run_v2.ServiceScaling(min_instance_count=1)
        service = cloud.create("chat", cloud.template(revision="chat-a"), scaling=scaling)
        service.template = cloud.template("b", revision="chat-b")
        service = cloud.update(service, "template")
        eventually(lambda: instances(cloud) == 1)

        service.traffic = [run_v2.TrafficTarget(type_=REVISION, revision="chat-a", percent=100)]
        service = cloud.update(service, "traffic")

        assert instances(cloud) >= 2
        assert ask(service.uri)["release"] == "a"
    finally:
        cloud.call("PUT", "/emulator/settings", {"retired_idle_seconds": 10.0})
