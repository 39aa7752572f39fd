"""Whatever makes a revision strange has a name, so that an adoption can say it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from meshctl.emulator.run import schema
from meshctl.plan.release import Mount
from meshctl.targets.cloudrun.template import template_json, template_of
from meshctl.targets.cloudrun.unsaid import unsaid
from tests import builders

MOUNT = Mount(path="/models/qwen", bucket="b", folder="qwen")

STRANGE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a volume": ({"volumes": [{"name": "v", "gcs": {"bucket": "b"}}]}, {}, "volumes"),
    "a network": ({"vpcAccess": {"connector": "c"}}, {}, "vpcAccess"),
    "sticky sessions": ({"sessionAffinity": True}, {}, "sessionAffinity"),
    "a key": ({"encryptionKey": "k"}, {}, "encryptionKey"),
    "a mesh": ({"serviceMesh": {"mesh": "m"}}, {}, "serviceMesh"),
    "a working folder": ({}, {"workingDir": "/srv"}, "workingDir"),
    "a liveness probe": ({}, {"livenessProbe": {"tcpSocket": {}}}, "livenessProbe"),
    "a delay": ({}, {"startupProbe": {"initialDelaySeconds": 3}}, "startupProbe.initial"),
    "grpc": ({}, {"startupProbe": {"grpc": {"port": 1}}}, "startupProbe.grpc"),
    "headers": ({}, {"startupProbe": {"httpGet": {"httpHeaders": [{"name": "a"}]}}}, "httpHeaders"),
    "a key that is revoked": (
        {"encryptionKeyRevocationAction": "SHUTDOWN"},
        {},
        "encryptionKeyRevocationAction",
    ),
    "a delay of that": (
        {"encryptionKeyShutdownDuration": "5s"},
        {},
        "encryptionKeyShutdownDuration",
    ),
    "a probe elsewhere": (
        {},
        {"startupProbe": {"httpGet": {"port": 9}}},
        "startupProbe.httpGet.port",
    ),
    "two GPUs": ({}, {"resources": {"limits": {"nvidia.com/gpu": "2"}}}, "nvidia.com/gpu"),
    "another limit": ({}, {"resources": {"limits": {"disk": "1Gi"}}}, "resources.limits.disk"),
    "http 2": ({}, {"ports": [{"name": "h2c", "containerPort": 8080}]}, "ports"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_sets_a_template_apart_is_named(what: str) -> None:
    template, container, path = STRANGE[what]
    revision = {"containers": [{"image": "i", **container}], **template}

    found = unsaid({}, revision)

    assert template_of(revision).other
    assert [one.lost for one in found] == [True]
    assert path in found[0].path


def test_bucket_volumes_are_said_only_in_the_form_in_which_meshctl_writes_them() -> None:
    written = template_json(builders.template(mounts=(MOUNT,)))
    writable = {**written, "volumes": [{"name": "payload-0", "gcs": {"bucket": "b"}}]}
    paths = [[one.path for one in unsaid({}, revision)] for revision in (written, writable)]

    assert paths == [[], ["volumes", "volumeMounts"]]
    assert template_of(writable).other


def test_a_second_container_is_named_by_its_name() -> None:
    revision = {"containers": [{"image": "i"}, {"name": "side", "image": "j"}]}

    assert [(one.path, one.value) for one in unsaid({}, revision)] == [("containers[1]", "side")]


def test_what_stands_around_the_revisions_is_told_and_kept() -> None:
    service = {
        "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
        "scaling": {"minInstanceCount": 1, "maxInstanceCount": 5},
        "customAudiences": ["a"],
    }

    found = unsaid(service, {"containers": [{"image": "i"}]})

    assert {one.path for one in found if not one.lost} == {
        "ingress", "scaling.maxInstanceCount", "customAudiences"
    }  # fmt: skip


def test_a_plain_service_has_nothing_unsaid() -> None:
    service = {"ingress": "INGRESS_TRAFFIC_ALL", "scaling": {"minInstanceCount": 1}}

    assert unsaid(service, {"containers": [{"image": "i", "name": ""}]}) == ()


def test_hostile_values_are_cut_and_cannot_steer_a_terminal() -> None:
    revision = {"containers": [{"image": "i", "workingDir": "\x1b[2J" + "x" * 500}]}

    (one,) = unsaid({}, revision)

    assert len(one.value) <= 60
    assert one.value.isprintable()


def test_what_others_hung_on_the_template_is_told_and_kept() -> None:
    template = {
        "labels": {"team": "search", "meshctl-run": "x", "client.knative.dev/nonce": "y"},
        "annotations": {"owner": "ana"},
        "containers": [{"name": "engine"}],
    }

    found = unsaid({"template": template}, {"containers": [{"image": "i", "name": "engine"}]})

    assert [(one.path, one.value, one.lost) for one in found] == [
        ("template.labels.team", "search", False),
        ("template.annotations.owner", "ana", False),
        ("template.containers[0].name", "engine", False),
    ]


def test_health_checks_that_are_off_are_named_although_no_revision_says_so() -> None:
    found = unsaid({"template": {"healthCheckDisabled": True}}, {"containers": [{"image": "i"}]})

    assert [(one.path, one.lost) for one in found] == [("healthCheckDisabled", True)]


BASE: dict[str, Any] = {
    "containers": [
        {
            "image": "i",
            "env": [{"name": "A", "value": "1"}],
            "ports": [{"containerPort": 8080}],
            "resources": {"limits": {"cpu": "1"}},
        }
    ],
    "nodeSelector": {"accelerator": "nvidia-l4"},
}
SAMPLES = {
    schema.STRING: "x", schema.INT32: 7, schema.INT64: 7, schema.BOOL: True,
    schema.DURATION: "7s", schema.MAP: {"x": "y"},
}  # fmt: skip
OURS = {"revision"}
"""The name of a revision: meshctl gives each its own."""


def leaves(kind: schema.Type) -> Iterator[tuple[str, Any]]:
    """Every field of a message that holds a value: its path, and a document that says it alone."""
    if isinstance(kind, dict):
        for key, inner in kind.items():
            for path, value in leaves(inner):
                yield f"{key}.{path}".rstrip("."), {key: value}
    elif isinstance(kind, list):
        for path, value in leaves(kind[0]):
            yield path, [value]
    else:
        yield "", kind[1] if isinstance(kind, tuple) else SAMPLES.get(kind, {"x": "y"})


def said_beside(base: Any, value: Any) -> Any:
    """The base with one more thing said, in the first of a list where it is one."""
    if isinstance(base, dict) and isinstance(value, dict):
        return base | {key: said_beside(base.get(key), value[key]) for key in value}
    if isinstance(base, list) and isinstance(value, list) and base:
        return [said_beside(base[0], value[0]), *base[1:]]
    return value


@pytest.mark.parametrize(("path", "value"), list(leaves(schema.TEMPLATE)))
def test_every_field_of_a_template_is_read_into_the_release_or_named(path: str, value: Any) -> None:
    template = said_beside(BASE, value)
    beside = {"other": ""}

    read = template_of(template).model_copy(update=beside) != template_of(BASE).model_copy(
        update=beside
    )
    named = unsaid({"template": template}, template)

    assert read or named or path in OURS


ELSEWHERE = {
    "client", "clientVersion",  # who wrote it last
    "traffic", "template",  # what serves is what is adopted; the template has a test of its own
    "scaling.minInstanceCount",  # read into `scaling: {min}`
    "scaling.manualInstanceCount",  # named with its mode
}  # fmt: skip


@pytest.mark.parametrize(("path", "value"), list(leaves(schema.WISHES)))
def test_every_field_around_the_revisions_is_named_or_said(path: str, value: Any) -> None:
    if path in ELSEWHERE or path.partition(".")[0] in ELSEWHERE:
        return
    if path == "scaling.scalingMode":
        value = {"scaling": {"scalingMode": "MANUAL"}}
    if path == "ingress":
        value = {"ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY"}

    assert [one.lost for one in unsaid(value, BASE)] == [False]
