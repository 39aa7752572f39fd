"""What Cloud Run refuses at once and what it lets pass: each row names the fact behind it.

Everything is asked with validateOnly, which answers refusals synchronously and changes nothing.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.emulator.cloud.embedded import PARENT

CREATE = f"/v2/{PARENT}/services?validateOnly=true&serviceId="
IMAGE = "repo/app:v1"
WISH: dict[str, Any] = {"template": {"containers": [{"image": IMAGE}]}}
C = "template.containers.0."
LIMITS = C + "resources.limits"
STARTUP, LIVE, READY = C + "startupProbe", C + "livenessProbe", C + "readinessProbe"
TCP: dict[str, Any] = {"tcpSocket": {}}
LATEST, REVISION = (f"TRAFFIC_TARGET_ALLOCATION_TYPE_{kind}" for kind in ("LATEST", "REVISION"))
ALL_LATEST = {"type": LATEST, "percent": 100}
L4 = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}


def wish(*changes: tuple[str, Any]) -> dict[str, Any]:
    """A good service with values at dotted paths; a number is a place in a list."""
    out: Any = copy.deepcopy(WISH)
    for path, value in changes:
        at, keys = out, path.split(".")
        for key in keys[:-1]:
            at = at[int(key)] if key.isdigit() else at.setdefault(key, {})
        at[int(keys[-1]) if keys[-1].isdigit() else keys[-1]] = value
    return dict(out)


def gpu(limits: dict[str, str], accelerator: str = "nvidia-l4", *more: tuple[str, Any]) -> Any:
    node = ("template.nodeSelector.accelerator", accelerator)
    one = ("template.scaling", {"maxInstanceCount": 1})  # as many as every quota allows
    return wish((LIMITS, limits), node, one, *more)


def containers(*rows: dict[str, Any]) -> Any:
    return wish(("template.containers", [{"image": IMAGE, **row} for row in rows]))


PORT = {"ports": [{"containerPort": 8080}]}
REFUSED: list[tuple[str, Any, str]] = [
    ("s8 unknown field", wish(("lables", {})), "Cannot find field"),
    ("s8 unknown field, nested", wish(("template.scaling.min", 1)), "Cannot find field"),
    ("s8 unknown field in a list", wish(("traffic", [{"weight": 1}])), "Cannot find field"),
    ("s8 bad int", wish(("template.scaling.minInstanceCount", "two")), "TYPE_INT32"),
    ("s8 int too large", wish(("scaling.minInstanceCount", 2**31)), "TYPE_INT32"),
    ("s8 bad duration", wish(("template.timeout", "5m")), "Illegal duration format"),
    ("s8 an object for text", wish((C + "image", {})), "TYPE_STRING"),
    ("s8 text for an object", wish(("template", "x")), "an object is expected"),
    ("s8 text for a list", wish(("template.containers", "x")), "a list is expected"),
    ("s8 text for a flag", wish(("invokerIamDisabled", "yes")), "TYPE_BOOL"),
    ("s8 unknown enum", wish(("ingress", "INGRESS_TRAFFIC_SOME")), "TYPE_ENUM"),
    ("s8 a name in the body", wish(("name", "projects/p/locations/l/services/x")), "must be empty"),
    ("s2 empty template", {"template": {}}, "Revision template was empty"),
    ("s8 no container", wish(("template", {"timeout": "5s", "containers": []})), "at least one"),
    ("s8 no image", wish((C + "image", "")), "must provide an image name to deploy"),
    ("s8 bad image", wish((C + "image", "Bad Image!")), "must be a container image path"),
    ("s8 two ports", wish((C + "ports", [{"containerPort": 1}] * 2)), "should contain 0 or 1 port"),
    ("s8 port 0", wish((C + "ports", [{"containerPort": 0}])), "between 1 and 65535"),
    ("s5 port name", wish((C + "ports", [{"containerPort": 1, "name": "grpc"}])), "http1 or h2c"),
    ("s8 container name", wish((C + "name", "A_b")), "RFC 1123"),
    ("s8 eleven containers", containers(PORT, *[{}] * 10), "at most 10 containers"),
    ("s5 two with ports", containers(PORT, PORT), "exactly one container with an exposed port"),
    ("s8 dependsOn unknown", wish((C + "dependsOn", ["db"])), "unknown container 'db'"),
    (
        "s8 dependsOn cycle",
        containers({"name": "a", "dependsOn": ["b"], **PORT}, {"name": "b", "dependsOn": ["a"]}),
        "cycle",
    ),
    ("s5 reserved env", wish((C + "env", [{"name": "K_SERVICE"}])), "reserved env names"),
    (
        "s8 env value",
        wish((C + "env", [{"name": "A", "value": "x" * 32769}])),
        "length cannot exceed 32768",
    ),
    ("s5 env name", wish((C + "env", [{"name": "A" * 32769}])), "length cannot exceed 32768"),
    ("s5 env count", wish((C + "env", [{"name": "A"}] * 1001)), "At most 1000 environment"),
    ("s5 args count", wish((C + "args", ["x"] * 1001)), "At most 1000 arguments"),
    ("s8 launch stage", wish(("launchStage", "DEPRECATED")), "ALPHA, BETA, GA"),
    ("s8 account", wish(("template.serviceAccount", "me")), "Unsupported service account"),
    ("s1 labels", wish(("labels", {"cloud.googleapis.com/x": "y"})), "are not supported"),
    (
        "s1 annotations",
        wish(("template.annotations", {"autoscaling.knative.dev/minScale": "1"})),
        "system annotations are not supported",
    ),
    ("s1 revision name", wish(("template.revision", "chat-A")), "must be prefixed with"),
    ("s1 revision ends with hyphen", wish(("template.revision", "chat-a-")), "hyphen"),
    ("s1 revision of 64", wish(("template.revision", "chat-" + "a" * 59)), "at most 63"),
    # Scaling.
    ("s3 negative", wish(("scaling.minInstanceCount", -1)), "greater than or equal to zero"),
    (
        "s3 max below min",
        wish(("scaling", {"minInstanceCount": 3, "maxInstanceCount": 2})),
        "must be greater than or equal to min_instance_count",
    ),
    (
        "s3 manual count",
        wish(("scaling.manualInstanceCount", 0)),
        "scaling mode must be set to MANUAL",
    ),
    ("s3 concurrency", wish(("template.maxInstanceRequestConcurrency", 1001)), "between 0 and"),
    ("s3 timeout", wish(("template.timeout", "3601s")), "maximum allowed time is one hour"),
    # CPU and memory.
    ("s8 cpu", wish((LIMITS, {"cpu": "3"})), "Must be equal to one of [.08-1]"),
    ("s8 quantity", wish((LIMITS, {"memory": "lots"})), "Could not parse Quantity"),
    ("s8 limit key", wish((LIMITS, {"disk": "1Gi"})), "limits are supported"),
    ("s3 1 cpu", wish((LIMITS, {"cpu": "1", "memory": "5Gi"})), "specified for container memory"),
    ("s3 4 cpu", wish((LIMITS, {"cpu": "4", "memory": "1Gi"})), "specified for container memory"),
    ("s3 8 cpu", wish((LIMITS, {"cpu": "8", "memory": "33Gi"})), "specified for container memory"),
    (
        "s3 a fraction needs concurrency 1",
        wish(
            (C + "resources", {"limits": {"cpu": ".5"}, "cpuIdle": True}),
            ("template.maxInstanceRequestConcurrency", 2),
        ),
        "cpu < 1 is not supported with concurrency > 1",
    ),
    ("s3 a fraction is billed by request", wish((LIMITS, {"cpu": ".5"})), "always allocated"),
    (
        "s3 a fraction is gen1",
        wish(
            (C + "resources", {"limits": {"cpu": ".5"}, "cpuIdle": True}),
            ("template.executionEnvironment", 2),
        ),
        "cpu < 1 is not supported with gen2",
    ),
    # GPU.
    ("s4 two gpus", gpu(L4 | {"nvidia.com/gpu": "2"}), "GPU can only be set to 1"),
    (
        "s4 small l4",
        gpu(L4 | {"memory": "8Gi"}),
        "CPU must be at least 4; memory must be at least 16Gi",
    ),
    (
        "s4 gen1",
        gpu(L4, "nvidia-l4", ("template.executionEnvironment", 1)),
        "Execution environment must be set to gen2 in order to set GPU",
    ),
    (
        "s4 throttled",
        gpu(L4, "nvidia-l4", (C + "resources.cpuIdle", True)),
        "must be disabled in order to set GPU requirements",
    ),
    (
        "s4 zonal flag without gpu",
        wish(("template.gpuZonalRedundancyDisabled", False)),
        "must be set when GPU redundancy is set",
    ),
    ("s4 accelerator", gpu(L4, "nvidia-t4"), "Accelerator must be one of"),
    ("s4 rtx cpu", gpu(L4, "nvidia-rtx-pro-6000"), "Must be equal to one of 20.0, 22.0"),
    (
        "s4 rtx memory",
        gpu(L4 | {"cpu": "20", "memory": "79Gi"}, "nvidia-rtx-pro-6000"),
        "memory must be between 80Gi",
    ),
    # Probes.
    ("s8 no action", wish((STARTUP, {"periodSeconds": 5})), "Exactly one probe action"),
    ("s8 two actions", wish((STARTUP, {**TCP, "httpGet": {}})), "Exactly one probe action"),
    ("s5 startup period", wish((STARTUP, {**TCP, "periodSeconds": 241})), "between 0 and 240"),
    ("s5 startup delay", wish((STARTUP, {**TCP, "initialDelaySeconds": 241})), "between 0 and 240"),
    (
        "s5 timeout over period",
        wish((STARTUP, {**TCP, "periodSeconds": 5, "timeoutSeconds": 6})),
        "must not exceed period_seconds",
    ),
    (
        "s5 startup budget",
        wish((STARTUP, {**TCP, "periodSeconds": 10, "failureThreshold": 61})),
        "must not exceed 600 seconds",
    ),
    (
        "s5 startup budget on a gpu",
        gpu(L4, "nvidia-l4", (STARTUP, {**TCP, "periodSeconds": 10, "failureThreshold": 181})),
        "must not exceed 1800 seconds",
    ),
    ("s5 liveness over tcp", wish((LIVE, TCP)), "tcp_socket is not supported"),
    (
        "s5 readiness delay",
        wish((READY, {"httpGet": {}, "initialDelaySeconds": 1})),
        "between 0 and 0",
    ),
    (
        "s5 readiness timeout",
        wish((READY, {"httpGet": {}, "timeoutSeconds": 301, "periodSeconds": 300})),
        "between 0 and 300",
    ),
    # Traffic.
    ("s2 percent", wish(("traffic", [{"type": LATEST, "percent": 101}])), "between 0 and 100"),
    ("s2 total", wish(("traffic", [{"type": LATEST, "percent": 99}])), "should be 100"),
    (
        "s2 a revision with LATEST",
        wish(("traffic", [ALL_LATEST | {"revision": "chat-a"}])),
        "must be specified if and only if traffic type is",
    ),
    ("s2 tag form", wish(("traffic", [ALL_LATEST | {"tag": "A_b"}])), "must be a DNS label"),
    (
        "s2 tags without the default url",
        wish(("defaultUriDisabled", True), ("traffic", [ALL_LATEST | {"tag": "a"}])),
        "default URL",
    ),
]


@pytest.mark.parametrize(("fact", "body", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_it_is_refused_at_once(shared: Any, fact: str, body: Any, text: str) -> None:
    status, answer = shared.call("POST", CREATE + "chat", body)

    assert (status, answer["error"].get("status")) == (400, "INVALID_ARGUMENT"), fact
    assert text in answer["error"]["message"]
    assert answer["error"]["details"][0]["fieldViolations"][0]["field"]


ONE = ("template.scaling.maxInstanceCount", 1)  # within the quota
PASSES: list[tuple[str, Any]] = [
    ("s5 X_GOOGLE_, twins and = in names", wish((C + "env", [{"name": n} for n in ("X_GOOGLE_A",
     "A", "A", "B=C")]))),
    ("s8 original field names", wish(("template.max_instance_request_concurrency", 5))),
    ("s8 enums by number", wish(("ingress", 1), ("traffic", [{"type": 1, "percent": 100}]))),
    ("s8 what the server wrote comes back", wish(("uri", "x"), ("reconciling", True))),
    ("s2 a row at 0 % for LATEST", wish(("traffic", [ALL_LATEST, {"type": LATEST, "tag": "a"}]))),
    ("s3 cpu .08", wish((C + "resources", {"limits": {"cpu": ".08"}, "cpuIdle": True}))),
    ("s3 8 cpu", wish((LIMITS, {"cpu": "8", "memory": "32Gi"}))),
    ("s4 l4", gpu(L4, "nvidia-l4", ("template.gpuZonalRedundancyDisabled", True), ONE)),
    ("s4 rtx", gpu(L4 | {"cpu": "30", "memory": "120Gi"}, "nvidia-rtx-pro-6000",
     ("template.gpuZonalRedundancyDisabled", True), ONE)),
    ("s5 startup budget of 600 s", wish((STARTUP, {**TCP, "periodSeconds": 10,
     "failureThreshold": 60}))),
    ("s5 h2c", wish((C + "ports", [{"containerPort": 1, "name": "h2c"}]))),
    ("s8 dependsOn", containers({"name": "a", "dependsOn": ["b"], **PORT}, {"name": "b"})),
    ("s3 manual", wish(("scaling", {"scalingMode": "MANUAL", "manualInstanceCount": 0}))),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "body"), PASSES, ids=[row[0] for row in PASSES])
def test_it_passes(shared: Any, fact: str, body: Any) -> None:
    status, answer = shared.call("POST", CREATE + "chat", body)

    assert (status, answer.get("done")) == (200, False), (fact, answer)


NAMES = [
    ("a" * 49, 200),
    ("a-1", 200),
    ("a" * 50, 400),
    ("1a", 400),
    ("a-", 400),
    ("A", 400),
    ("", 400),
]


@pytest.mark.parametrize(("name", "status"), NAMES)
def test_s1_a_service_name_is_short_lowercase_and_begins_with_a_letter(
    shared: Any, name: str, status: int
) -> None:
    assert shared.call("POST", CREATE + name, WISH)[0] == status


def test_s2_tag_and_service_name_have_46_characters_together(shared: Any) -> None:
    def tagged(length: int) -> Any:
        return wish(("traffic", [ALL_LATEST | {"tag": "t" * length}]))

    taken = shared.call("POST", CREATE + "chat", tagged(42))
    refused = shared.call("POST", CREATE + "chat", tagged(43))

    assert (taken[0], refused[0]) == (200, 400)
    violation = refused[1]["error"]["details"][0]["fieldViolations"][0]
    assert violation["field"] == "traffic[].tag"
    assert "Combined traffic tag and service name cannot exceed 46" in violation["description"]


@pytest.mark.parametrize("body", ["[]", "{", "1", "[" * 100_000, '{"a":' * 100_000])
def test_a_body_that_is_no_object_is_refused(shared: Any, body: str) -> None:
    from tests.emulator.cloud.embedded import fetch

    status, _, _ = fetch(shared.url + CREATE + "chat", "POST", body.encode())

    assert status == 400


def test_s6_names_of_what_is_missing(shared: Any) -> None:
    text = "Resource 'chat' of kind 'SERVICE' in region 'l' in project 'p' does not exist."

    for method, path in (
        ("GET", ""),
        ("GET", ":getIamPolicy"),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/revisions"),
    ):
        status, answer = shared.call(method, f"/v2/{PARENT}/services/chat{path}", {})
        assert (status, answer["error"]["status"]) == (404, "NOT_FOUND")
        assert answer["error"]["message"] == text


def test_s6_permissions_are_answered_before_a_service_is_there(shared: Any) -> None:
    asked = {"permissions": ["run.services.setIamPolicy"]}

    answer = shared.call("POST", f"/v2/{PARENT}/services/chat:testIamPermissions", asked)

    assert answer == (200, asked)


@pytest.mark.parametrize("query", ["pageSize=-1", "pageSize=x", "pageToken=x", "pageToken=-1"])
@pytest.mark.parametrize("what", ["services", "services/-/revisions", "operations"])
def test_s8_a_page_that_is_none_is_refused(shared: Any, what: str, query: str) -> None:
    assert shared.call("GET", f"/v2/{PARENT}/{what}?{query}")[0] == 400
