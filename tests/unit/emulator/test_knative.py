"""The v1 documents lose nothing that v2 says, and refuse what v2 has no word for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.emulator.failures import ApiError
from meshctl.emulator.knative import conditions, documents, templates
from meshctl.emulator.knative.spelling import SERVICE, annotations_of, fields_of

Json = dict[str, Any]
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
words = st.text("abcxyz-0123456789", min_size=1, max_size=8)


@st.composite
def v2_templates(draw: st.DrawFn) -> Json:
    """Templates as the embedded cloud keeps them: filled in, nothing false."""
    gpu = draw(st.booleans())
    resources: Json = {
        "limits": {"cpu": "4", "memory": "16Gi"} | ({"nvidia.com/gpu": "1"} if gpu else {})
    }
    resources |= {} if gpu else draw(st.sampled_from([{}, {"cpuIdle": True}]))
    resources |= draw(st.sampled_from([{}, {"startupCpuBoost": True}]))
    env = [
        {"name": f"E{n}", "value": v}
        for n, v in enumerate(draw(st.lists(st.text(max_size=5), max_size=3)))
    ]
    if draw(st.booleans()):
        env.append(
            {"name": "S", "valueSource": {"secretKeyRef": {"secret": "hub", "version": "3"}}}
        )
    container: Json = {"image": "host/a@sha256:1", "resources": resources,
                       "ports": [{"name": "http1", "containerPort": draw(st.integers(1, 65535))}],
                       "startupProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 1}}  # fmt: skip
    container |= {"env": env} if env else {}
    container |= {"args": ["mesh"], "command": ["/bin/x"]} if draw(st.booleans()) else {}
    template: Json = {
        "containers": [container],
        "scaling": {"maxInstanceCount": draw(st.integers(1, 9))},
        "timeout": f"{draw(st.integers(1, 3600))}s",
        "maxInstanceRequestConcurrency": draw(st.integers(1, 1000)),
        "serviceAccount": "a@p.iam.gserviceaccount.com",
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
    }
    template |= (
        {"nodeSelector": {"accelerator": "nvidia-l4"}, "gpuZonalRedundancyDisabled": True}
        if gpu
        else {}
    )
    template |= {"labels": {"meshctl-run": draw(words)}} if draw(st.booleans()) else {}
    template |= {"revision": f"chat-{draw(words)}"} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        template["volumes"] = [
            {"name": "v", "gcs": {"bucket": "b", "readOnly": True, "mountOptions": ["only-dir=a"]}},
            {"name": "s", "secret": {"secret": "hub", "items": [{"path": "x", "version": "3"}]}},
            {"name": "e", "emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}},
            {"name": "n", "nfs": {"server": "10.0.0.1", "path": "/a"}},
        ]
        container["volumeMounts"] = [{"name": "v", "mountPath": "/models/a"}]
    return template


def without_false(value: Any) -> Any:
    """As proto3 JSON leaves it: false is unset."""
    if isinstance(value, dict):
        return {k: without_false(v) for k, v in value.items() if v is not False}
    return [without_false(item) for item in value] if isinstance(value, list) else value


@given(v2_templates())
def test_a_template_comes_back_from_v1_as_it_was(template: Json) -> None:
    there = templates.to_v1(copy.deepcopy(template))

    assert without_false(templates.to_v2(there, "spec.template")) == template


def test_a_secret_is_mounted_in_the_words_of_v1() -> None:
    """What gcloud sends for --set-secrets /etc/sec/x=mysec:1."""
    secret = {"secretName": "mysec", "items": [{"key": "1", "path": "x"}]}
    spec = {"containers": [{"image": "a"}], "volumes": [{"name": "v", "secret": secret}]}

    made = templates.to_v2({"metadata": {}, "spec": spec}, "spec.template")

    assert made["volumes"] == [
        {"name": "v", "secret": {"secret": "mysec", "items": [{"version": "1", "path": "x"}]}}
    ]
    assert templates.to_v1(made)["spec"]["volumes"] == spec["volumes"]


def test_the_users_own_annotations_stay_and_system_ones_become_fields() -> None:
    found = {
        "mine": "yes",
        "run.googleapis.com/minScale": "2",
        "run.googleapis.com/ingress": "internal",
        "run.googleapis.com/urls": "[]",
    }

    fields = fields_of(found, SERVICE, "metadata.annotations")

    assert fields == {
        "annotations": {"mine": "yes"},
        "scaling": {"minInstanceCount": 2},
        "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    }
    back = annotations_of(fields, SERVICE)
    assert back == {key: value for key, value in found.items() if "urls" not in key}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run.googleapis.com/vpc-access-connector", "c"),
        ("run.googleapis.com/minScale", "two"),
        ("run.googleapis.com/ingress", "some"),
        ("run.googleapis.com/custom-audiences", "["),
    ],
)
def test_an_annotation_that_is_not_imitated_or_not_meant_is_refused(name: str, value: str) -> None:
    with pytest.raises(ApiError) as refused:
        fields_of({name: value}, SERVICE, "metadata.annotations")

    assert refused.value.status == "INVALID_ARGUMENT"
    assert (
        refused.value.details[0]["fieldViolations"][0]["field"] == f"metadata.annotations[{name}]"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {}},
        {"spec": {"containers": [{"image": "a", "lifecycle": {}}]}},
        {"spec": {"containers": [{"image": "a"}], "hostNetwork": True}},
        {
            "spec": {
                "containers": [{"image": "a"}],
                "volumes": [{"name": "v", "csi": {"driver": "x"}}],
            }
        },
        {
            "spec": {
                "containers": [{"image": "a"}],
                "volumes": [{"name": "v", "emptyDir": {"medium": "Tape"}}],
            }
        },
    ],
)
def test_what_v2_has_no_word_for_is_refused(change: Json) -> None:
    with pytest.raises(ApiError):
        templates.to_v2({"metadata": {}} | change, "spec.template")


def test_latest_is_shown_with_the_revision_it_stands_for() -> None:
    found: Json = {
        "name": "projects/p/locations/l/services/s", "uid": "u", "generation": "3",
        "createTime": "t", "template": {"containers": [{"image": "a"}]},
        "traffic": [{"type": LATEST, "percent": 100},
                    {"type": REVISION, "revision": "s-1", "tag": "t"}],
        "trafficStatuses": [{"type": LATEST, "percent": 100}],
        "latestReadyRevision": "projects/p/locations/l/services/s/revisions/s-2",
        "terminalCondition": {"type": "Ready", "state": "CONDITION_SUCCEEDED"},
    }  # fmt: skip

    shown = documents.service(found, "v")

    assert shown["spec"]["traffic"] == [
        {"percent": 100, "latestRevision": True},
        {"tag": "t", "revisionName": "s-1"},
    ]
    assert shown["status"]["traffic"] == [
        {"percent": 100, "latestRevision": True, "revisionName": "s-2"}
    ]
    assert shown["metadata"]["generation"] == 3


def test_conditions_are_true_false_or_unknown_with_reasons_in_camel_case() -> None:
    states = ("CONDITION_SUCCEEDED", "CONDITION_FAILED", "CONDITION_RECONCILING")

    shown = [
        conditions.to_v1(
            {
                "type": "Active",
                "state": s,
                "severity": "INFO",
                "revisionReason": "MIN_INSTANCES_NOT_PROVISIONED",
            }
        )
        for s in states
    ]

    assert [row["status"] for row in shown] == ["True", "False", "Unknown"]
    assert {row["reason"] for row in shown} == {"MinInstancesNotProvisioned"}
    assert {row["severity"] for row in shown} == {"Info"}
