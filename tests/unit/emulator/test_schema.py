"""The fields that the embedded cloud knows are those of the real client library."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import run_v2

from meshctl.emulator.run import schema

MESSAGES: list[tuple[schema.Type, Any]] = [
    (schema.TEMPLATE, run_v2.RevisionTemplate),
    (schema.CONTAINER, run_v2.Container),
    (schema.PROBE, run_v2.Probe),
    (schema.VOLUME, run_v2.Volume),
    (schema.VPC, run_v2.VpcAccess),
    (schema.SERVICE, run_v2.Service),
]


def in_json(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@pytest.mark.parametrize(("ours", "theirs"), MESSAGES, ids=lambda one: getattr(one, "__name__", ""))
def test_a_message_has_the_fields_of_the_client_library(ours: schema.Type, theirs: Any) -> None:
    assert set(ours) == {in_json(name) for name in theirs.meta.fields}
