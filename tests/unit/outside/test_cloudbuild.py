"""Recipes as Cloud Build understands them."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.errors import UsageError
from meshctl.outside.cloudbuild import normalised


def test_both_spellings_become_the_one_of_the_api() -> None:
    step = {"name": "docker", "wait_for": ["-"], "secretEnv": ["A"]}

    found = normalised({"steps": [step], "timeout": "900s"}, "recipe.yaml")

    assert found == {
        "steps": [{"name": "docker", "waitFor": ["-"], "secretEnv": ["A"]}], "timeout": "900s",
    }  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [
        {"stepz": []},
        {"steps": [{"nmae": "docker"}]},
        {"steps": [{"args": [1.1]}]},
        {"steps": {"name": "docker"}},
        {"options": {"machineType": "HUGE"}},
        {"timeout": "9m"},
        None,
        3,
    ],
)
def test_what_cloud_build_does_not_know_is_refused_with_its_place(document: Any) -> None:
    with pytest.raises(UsageError, match="not a Cloud Build recipe") as refused:
        normalised(document, "recipe.yaml")

    assert refused.value.place == "recipe.yaml"
    assert "\n" not in refused.value.message
