"""`deliver: fetch` needs a mesh that fetches and sources that it can reach."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.spec.fetched import check_fetch
from meshctl.spec.model import Payload, Service
from tests.builders import service


def wrong(source: str, **changed: Any) -> list[str]:
    files = {"q.gguf": {"bytes": 1, "sha256": "a" * 64}}
    payload = Payload.model_validate({"source": source, "files": files})
    given = {"deliver": "fetch", "models": {"m": {"payload": "q"}}} | changed
    of = Service.model_validate(service(**given))
    return [complaint.path for complaint in check_fetch(of, {"q": payload})]


@pytest.mark.parametrize(
    "source", ["gs://models/q", "s3://models/q", "r2://models/q", "https://e.org/q"]
)
def test_places_that_an_instance_can_reach_are_taken(source: str) -> None:
    assert wrong(source) == []


@pytest.mark.parametrize(
    "source", ["file:q", "package:q", "image:q@sha256:" + "a" * 64, "https://e.org/q?sign=x"]
)
def test_other_places_are_told(source: str) -> None:
    assert wrong(source) == ["deliver"]
    assert wrong(source, deliver="bake") == []


def test_who_runs_no_mesh_fetches_nothing() -> None:
    assert wrong("gs://models/q", args=["serve"]) == ["deliver"]
    assert wrong("gs://models/q", args=["serve"], models={}) == []


def test_a_cache_without_a_fetch_means_nothing() -> None:
    assert wrong("gs://models/q", deliver="mount", cache="1GB") == ["cache"]
