"""Cloud Run v1 as gcloud asks it, byte for byte where no gcloud is installed."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from tests.emulator.cloud.embedded import DIRECT, ask, eventually

HOST = "us-central1-run.emu.internal"
SPACE = "/apis/serving.knative.dev/v1/namespaces/p"
PLACE = "/v1/projects/p/locations/us-central1"


def v1(cloud: Any, method: str, path: str, body: Any = None, host: str = HOST) -> tuple[int, Any]:
    """One request that reaches the embedded cloud as its own proxy would pass it on."""
    data = None if body is None else json.dumps(body).encode()
    port = cloud.url.rpartition(":")[2]
    headers = {"Host": f"{host}:{port}", "Content-Type": "application/json"}
    request = urllib.request.Request(cloud.url + path, data, headers, method=method)
    try:
        with DIRECT.open(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def document(cloud: Any, name: str, release: str = "a", **metadata: Any) -> dict[str, Any]:
    """A service as gcloud would POST it."""
    container = {"image": "repo/app:v1", "env": [{"name": "RELEASE", "value": release}]}
    template = {
        "metadata": {"annotations": {"autoscaling.knative.dev/maxScale": "2"}},
        "spec": {"containers": [container], "timeoutSeconds": 60},
    }
    return {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "p", **metadata},
        "spec": {"template": template},
    }


def created(cloud: Any, name: str) -> dict[str, Any]:
    """A service made over v1, once it is ready."""
    status, made = v1(cloud, "POST", f"{SPACE}/services", document(cloud, name))
    assert status == 200, made
    operation = made["metadata"]["annotations"]["run.googleapis.com/operation-id"]
    status, done = v1(cloud, "POST", f"{PLACE}/operations/{operation}:wait", {"timeout": "30s"})
    assert (status, done["done"]) == (200, True), done
    assert done["response"]["@type"].endswith("run.v1.Service")
    return dict(v1(cloud, "GET", f"{SPACE}/services/{name}")[1])


def ready(service: dict[str, Any]) -> str:
    (found,) = (row for row in service["status"]["conditions"] if row["type"] == "Ready")
    return str(found["status"])


def test_a_service_made_over_v1_serves_and_is_seen_over_v2(cloud: Any) -> None:
    service = created(cloud, "knative")
    everyone = {"role": "roles/run.invoker", "members": ["allUsers"]}
    policy = {"policy": {"bindings": [everyone]}}
    v1(cloud, "POST", f"{PLACE}/services/knative:setIamPolicy", policy)

    name = "projects/p/locations/us-central1/services/knative"
    seen = cloud.services.get_service(name=name)

    assert ready(service) == "True"
    assert service["metadata"]["generation"] == service["status"]["observedGeneration"] == 1
    assert ask(service["status"]["url"])["release"] == "a"
    assert seen.uri == service["status"]["url"]
    assert seen.template.scaling.max_instance_count == 2
    assert seen.template.timeout.seconds == 60
    assert seen.template.containers[0].resources.cpu_idle is True


def test_a_put_with_a_stale_version_is_aborted_and_changes_nothing(cloud: Any) -> None:
    service = created(cloud, "stale")
    service["spec"]["template"]["spec"]["containerConcurrency"] = 3
    path = f"{SPACE}/services/stale"

    first, _ = v1(cloud, "PUT", path, service)
    again, refused = v1(cloud, "PUT", path, service)

    assert (first, again, refused["error"]["status"]) == (200, 409, "ABORTED")
    assert refused["error"]["message"].startswith("Conflict for resource 'stale': version '")
    eventually(lambda: ready(v1(cloud, "GET", path)[1]) == "True")
    assert len(v1(cloud, "GET", f"{SPACE}/revisions")[1]["items"]) >= 2


def test_a_dry_run_changes_nothing(cloud: Any) -> None:
    status, _ = v1(cloud, "POST", f"{SPACE}/services?dryRun=all", document(cloud, "dry"))

    assert status == 200
    assert v1(cloud, "GET", f"{SPACE}/services/dry")[0] == 404


def test_lists_carry_metadata_and_revisions_are_selected_by_their_service(cloud: Any) -> None:
    created(cloud, "one")
    created(cloud, "two")
    selector = "labelSelector=serving.knative.dev/service%20%3D%20one"

    status, everywhere = v1(cloud, "GET", "/v1/projects/p/locations/-/services")
    revisions = v1(cloud, "GET", f"{SPACE}/revisions?{selector}")[1]
    other, _ = v1(cloud, "GET", f"{SPACE}/revisions?labelSelector=a%3Db")

    assert status == 200 and everywhere["metadata"] == revisions["metadata"] == {}
    assert {"one", "two"} <= {row["metadata"]["name"] for row in everywhere["items"]}
    (revision,) = revisions["items"]
    assert revision["metadata"]["labels"]["serving.knative.dev/service"] == "one"
    assert revision["status"]["imageDigest"].partition("@")[2].startswith("sha256:")
    assert other == 400


def test_a_service_is_deleted_with_its_revisions(cloud: Any) -> None:
    service = created(cloud, "gone")
    revision = service["status"]["latestReadyRevisionName"]

    status, _ = v1(cloud, "DELETE", f"{SPACE}/services/gone")

    assert status == 200
    assert v1(cloud, "GET", f"{SPACE}/services/gone")[0] == 404
    assert v1(cloud, "GET", f"{SPACE}/revisions/{revision}")[0] == 404


def test_a_service_made_over_v2_is_found_over_v1_without_a_region(cloud: Any) -> None:
    made = cloud.create("modern")

    status, found = v1(cloud, "GET", f"{SPACE}/services/modern", host="127.0.0.1")

    assert status == 200
    assert (
        found["status"]["latestReadyRevisionName"] == made.latest_ready_revision.rpartition("/")[2]
    )
    assert found["spec"]["traffic"] == [{"percent": 100, "latestRevision": True}]


def test_other_hosts_are_still_refused(cloud: Any) -> None:
    for host in ("evil.example", "emu.internal.evil.example", "a.b.emu.internal"):
        status, refused = v1(cloud, "GET", f"{SPACE}/services", host=host)
        assert (status, refused["error"]["status"]) == (403, "PERMISSION_DENIED")
