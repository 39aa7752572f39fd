"""Whatever JSON is sent, it is read as a service or refused with the name of a field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.emulator import moment
from meshctl.emulator.failures import ApiError
from meshctl.emulator.run import checks, defaults, mask, schema, shape, traffic
from meshctl.emulator.run.schema import LATEST

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def messages(fields: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Objects with the right names and anything behind them, half of the time the right thing."""
    return st.fixed_dictionaries(
        {}, optional={name: ANYTHING | values(kind) for name, kind in fields.items()}
    )


def values(kind: schema.Type) -> st.SearchStrategy[Any]:
    if isinstance(kind, dict):
        return messages(kind)
    if isinstance(kind, list):
        return st.lists(values(kind[0]), max_size=2)
    if isinstance(kind, tuple):
        return st.sampled_from(kind)
    return {schema.BOOL: st.booleans(), schema.INT32: st.integers(-1, 2000)}.get(kind, st.text())


TEMPLATES = messages({key: schema.TEMPLATE[key] for key in ("scaling", "timeout", "containers")})
SERVICES = st.fixed_dictionaries(
    {}, optional={"template": TEMPLATES, "traffic": values(schema.WISHES["traffic"])}
)


@given(SERVICES)
def test_any_json_is_accepted_or_refused(body: Any) -> None:
    try:
        spec = shape.read(body)
        checks.service(spec, "chat")
        template = defaults.filled(spec["template"], "1")
        checks.template(template, "chat")
        traffic.check(traffic.normal(spec.get("traffic")), "chat")
    except ApiError as refusal:
        assert refusal.http == 400 and refusal.message
    else:
        assert shape.same_template(template, defaults.filled(template, "1"))


def test_names_numbers_and_nulls_come_out_in_one_form() -> None:
    body = {"ingress": 1, "labels": None, "template": {"max_instance_request_concurrency": "5"}}

    read = shape.read(body)

    assert read == {
        "ingress": "INGRESS_TRAFFIC_ALL",
        "template": {"maxInstanceRequestConcurrency": 5},
    }


def test_a_refusal_names_the_field_down_to_its_place_in_a_list() -> None:
    body = {"template": {"containers": [{}, {"ports": [{"containerPort": "x"}]}]}}

    with pytest.raises(
        ApiError, match=r"containers\[1\]\.ports\[0\]\.container_port' \(TYPE_INT32"
    ):
        shape.read(body)


def test_a_nested_mask_changes_one_field_and_leaves_its_neighbours() -> None:
    spec = {"scaling": {"minInstanceCount": 1, "maxInstanceCount": 4}}

    after = mask.apply(spec, {}, mask.paths("scaling.min_instance_count"), clears=True)

    assert after == {"scaling": {"maxInstanceCount": 4}}
    assert spec["scaling"]["minInstanceCount"] == 1


def test_traffic_that_names_no_type_is_of_the_type_its_revision_says() -> None:
    rows = traffic.normal([{"percent": 100, "tag": ""}])

    assert rows == [{"type": LATEST, "percent": 100}]


@given(st.integers(0, 2**63))
def test_a_v1_resource_version_tells_its_microseconds(us: int) -> None:
    assert moment.resource_version_us(moment.resource_version(us)) == us
    assert len(moment.resource_version(us)) == 11


@given(st.text(max_size=20))
def test_any_text_is_a_resource_version_or_none(text: str) -> None:
    found = moment.resource_version_us(text)

    assert found is None or found >= 0
