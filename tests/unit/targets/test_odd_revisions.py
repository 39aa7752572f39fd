"""One odd revision of a stranger never hides the others, and is never taken for ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.plan.release import Mount, release_of
from meshctl.targets.cloudrun.reading import revision_seen, service_seen
from meshctl.targets.cloudrun.template import template_json, template_of
from tests.builders import template

Json = dict[str, Any]
OURS = template()
LIMITS = ("containers", 0, "resources", "limits")
ODD: list[tuple[tuple[str | int, ...], Any]] = [
    ((*LIMITS, "memory"), "512k"),
    ((*LIMITS, "memory"), "1e9"),
    ((*LIMITS, "memory"), "1Pi"),
    ((*LIMITS, "memory"), "-1Gi"),
    ((*LIMITS, "memory"), "9" * 400),
    ((*LIMITS, "cpu"), "two"),
    ((*LIMITS, "cpu"), "inf"),
    ((*LIMITS, "cpu"), []),
    (LIMITS, "all"),
    (("containers", 0, "resources"), 7),
    (("containers", 0, "image"), 7),
    (("containers", 0, "command"), "run"),
    (("containers", 0, "args"), [1]),
    (("containers", 0, "args"), ["\ud800"]),
    (("containers", 0, "env"), {"A": "1"}),
    (("containers", 0, "env", 0), {"value": "without a name"}),
    (("containers", 0, "env", 0), {"name": "A", "value": 1}),
    (("containers", 0, "env", 0), "A=1"),
    (("containers", 0, "env", 2, "valueSource"), "hub"),
    (("containers", 0, "env", 2, "valueSource"), {"secretKeyRef": {"version": 3}}),
    (("containers", 0, "ports"), 8080),
    (("containers", 0, "ports", 0, "containerPort"), "http"),
    (("containers", 0, "startupProbe"), "/health"),
    (("containers", 0, "startupProbe", "httpGet"), "/health"),
    (("containers", 0, "startupProbe", "periodSeconds"), 1.5),
    (("containers", 0), "mesh"),
    (("containers",), {"image": "x"}),
    (("timeout",), "an hour"),
    (("timeout",), "1e400s"),
    (("scaling",), "all"),
    (("scaling", "maxInstanceCount"), True),
    (("maxInstanceRequestConcurrency",), {}),
    (("serviceAccount",), 7),
    (("nodeSelector",), "gpu"),
    (("nodeSelector", "accelerator"), ["nvidia-l4"]),
    (("gpuZonalRedundancyDisabled",), "yes"),
]


def changed(path: tuple[str | int, ...], value: Any) -> Json:
    """Our own document with one value replaced."""
    document: Any = copy.deepcopy(template_json(OURS))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return dict(document)


@pytest.mark.parametrize(("path", "value"), ODD)
def test_what_cannot_be_read_makes_another_release(path: tuple[str | int, ...], value: Any) -> None:
    found = template_of(changed(path, value))

    assert found.other
    assert release_of(found).id != release_of(OURS).id


def test_two_odd_values_are_two_releases() -> None:
    one, other = (template_of(changed((*LIMITS, "memory"), odd)) for odd in ("512k", "1e9"))

    assert release_of(one).id != release_of(other).id


MOUNTED = OURS.model_copy(update={"mounts": (Mount(path="/m/q", bucket="b", folder="q"),)})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("volumes", 0, "gcs", "readOnly"), False),
        (("volumes", 0, "gcs", "mountOptions"), ["only-dir=q", "implicit-dirs"]),
        (("volumes", 0, "gcs", "mountOptions"), "only-dir=q"),
        (("volumes", 0), {"name": "payload-0", "emptyDir": {}}),
        (("volumes",), []),
        (("containers", 0, "volumeMounts"), []),
        (("containers", 0, "volumeMounts", 0, "subPath"), "x"),
        (("containers", 0, "volumeMounts"), 7),
    ],
)
def test_a_strangers_volume_makes_another_release(path: tuple[str | int, ...], value: Any) -> None:
    document: Any = copy.deepcopy(template_json(MOUNTED))
    assert template_of(document) == MOUNTED
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    found = template_of(document)

    assert (found.mounts, bool(found.other)) == ((), True)


def test_half_a_gibibyte_can_be_read() -> None:
    found = template_of(changed((*LIMITS, "memory"), "0.5Gi"))

    assert (found.memory_bytes, found.other) == (512 * 2**20, "")


def test_an_odd_revision_does_not_hide_the_others() -> None:
    ready = {"type": "Ready", "state": "CONDITION_SUCCEEDED"}
    good = {**template_json(OURS), "name": "a/b/revisions/v1", "conditions": [ready]}
    odd = changed((*LIMITS, "memory"), "512k") | {"name": "v2", "conditions": "none", "labels": 7}
    nameless = template_json(OURS) | {"name": 7}

    seen = service_seen({"name": "chat"}, [odd, nameless, good], None)

    assert [(r.name, r.ready) for r in seen.revisions] == [("v2", False), ("v1", True)]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def spots(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place inside a document."""
    if isinstance(value, dict):
        inner = [spot for key, item in value.items() for spot in spots(item, (*path, key))]
    elif isinstance(value, list):
        inner = [spot for n, item in enumerate(value) for spot in spots(item, (*path, n))]
    else:
        inner = []
    return [path, *inner] if path else inner


WHOLE = template_json(OURS) | {
    "name": "v1", "createTime": "2026-11-30T20:45:00Z", "labels": {"a": "b"},
    "conditions": [{"type": "Ready", "state": "CONDITION_SUCCEEDED", "message": "well"}],
}  # fmt: skip


@given(path=st.sampled_from(spots(WHOLE)), value=anything)
def test_any_value_in_any_place_is_read_without_an_error(
    path: tuple[str | int, ...], value: Any
) -> None:
    document: Any = copy.deepcopy(WHOLE)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    for read in READERS:
        read(json.loads(json.dumps(document)))


@given(document=st.dictionaries(st.sampled_from(sorted(WHOLE)), anything))
def test_any_document_is_read_without_an_error(document: Json) -> None:
    for read in READERS:
        read(json.loads(json.dumps(document)))


READERS: list[Callable[[Json], object]] = [
    template_of,
    revision_seen,
    lambda document: service_seen({"name": "chat"}, [document], None),
]
