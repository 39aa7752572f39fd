"""A fleet written as a file is the same fleet when it is loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from meshctl.spec.written import as_file

CONFIGS = sorted((Path(__file__).parents[3] / "configs").glob("*.yaml"))
FLEET = """\
meshctl: 1
fleet: small
targets: {real: {kind: cloudrun, project: my-project, region: us-central1}}
images: {llama: {ref: "ghcr.io/ggml-org/llama.cpp@sha256:%s"}}
services:
  chat:
    target: real
    image: llama
    env: {BRACES: "$${HOME}", DIGITS: "017"}
    timeout: 90s
    resources: {memory: 1000000001, cpu: 1}
    rollout: {bake: 1.5s, token_deadline: 250ms}
""" % ("1" * 64)


def loaded(text: str) -> Fleet:
    return load(text, "meshctl.yaml", {"MESH_PROJECT": "my-project"})


def plain(fleet: Fleet) -> dict[str, Any]:
    """Everything a fleet says but `like`, which has done its work."""
    data = fleet.model_dump(mode="json")
    for service in data["services"].values():
        service["like"] = None
    return data


@pytest.mark.parametrize("text", [*(file.read_text() for file in CONFIGS), FLEET])
def test_a_fleet_that_was_written_is_loaded_as_the_same(text: str) -> None:
    fleet = loaded(text)

    again = loaded(yaml.safe_dump(as_file(fleet), sort_keys=False))

    assert plain(again) == plain(fleet)


def test_sizes_and_durations_have_units_and_are_exact() -> None:
    service = as_file(loaded(FLEET))["services"]["chat"]

    assert service["timeout"] == "1m30s"
    assert service["resources"]["memory"] == 1000000001
    assert (service["rollout"]["bake"], service["rollout"]["token_deadline"]) == ("1.5s", "0.25s")
    assert service["probe"] == {"period": "10s", "timeout": "5s", "failures": 24}


def test_keys_that_say_nothing_and_keys_of_other_places_are_left_out() -> None:
    service = as_file(loaded(FLEET))["services"]["chat"]

    assert {"mounts", "models", "like", "default_model"} & set(service) == set()
    assert "max_failures" not in service["rollout"]
