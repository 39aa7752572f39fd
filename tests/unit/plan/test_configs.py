"""The fleets in configs/ can be planned, and are rendered for Cloud Run as they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshctl.plan.make import make_deploy
from meshctl.plan.request import Request
from meshctl.plan.wanted import wanted_release
from meshctl.spec.load import load
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.registry import registry_of
from meshctl.state.builds import Built, FileProof
from meshctl.targets.cloudrun.template import template_json, template_of
from tests.conftest import Golden

CONFIGS = Path(__file__).parents[3] / "configs"
ENVIRON = {"MESH_PROJECT": "my-project"}
IMAGE = f"example.com/mesh@sha256:{'a' * 64}"


def fleet_of(name: str) -> Fleet:
    return load((CONFIGS / name).read_text(encoding="utf-8"), name, ENVIRON)


def services(fleet: Fleet) -> list[str]:
    return [
        key
        for key, service in fleet.services.items()
        if all(isinstance(fleet.targets[name], CloudRunTarget) for name in service.target)
    ]


def built_for(fleet: Fleet, key: str) -> Built:
    """A build that holds every payload of the service."""
    files = {
        f"models/{entry.payload}/{file.path}": FileProof(bytes=file.bytes, sha256=file.sha256)
        for entry in registry_of(fleet, fleet.services[key])
        for file in entry.files
    }
    return Built(
        image="mesh", repository="example.com/mesh", tag="mesh-v1", number=1, state="done",
        project="my-project", region="us-central1", at="2026-11-30T20:45:00.000000Z",
        context_digest="c", recipe_digest="r", digest=f"sha256:{'a' * 64}", build="b", files=files,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["cloud-mesh.yaml", "local.yaml"])
def test_a_release_is_read_back_as_it_was_written(name: str) -> None:
    fleet = fleet_of(name)

    for key in services(fleet):
        service = fleet.services[key]
        target = fleet.targets[service.target[0]]
        assert isinstance(target, CloudRunTarget)
        release = wanted_release(fleet, service, target, IMAGE)
        assert template_of(template_json(release.template)) == release.template


@pytest.mark.parametrize("name", ["cloud-mesh.yaml", "local.yaml"])
def test_the_rendered_template_is_the_golden_one(name: str, golden: Golden) -> None:
    fleet = fleet_of(name)

    for key in services(fleet):
        service = fleet.services[key]
        target = fleet.targets[service.target[0]]
        assert isinstance(target, CloudRunTarget)
        document = template_json(wanted_release(fleet, service, target, IMAGE).template)
        stem = name.removesuffix(".yaml")
        golden(f"cloudrun/{stem}-{key}", json.dumps(document, indent=2, sort_keys=True) + "\n")


def test_the_local_fleet_has_a_plan_from_nothing() -> None:
    fleet = fleet_of("local.yaml")

    plan = make_deploy(
        Request(fleet, "chat", "local", "abcd", built=built_for(fleet, "chat")), None
    )

    kinds = [step.kind for step in plan.steps]
    assert (plan.refused, plan.strategy) == ((), "create")
    assert kinds == ["stage", "place", "check", "shift", "check"]


def test_the_cloud_fleet_is_planned_as_it_stands() -> None:
    fleet = fleet_of("cloud-mesh.yaml")

    for key in services(fleet):
        request = Request(fleet, key, fleet.services[key].target[0], "abcd",
                          built=built_for(fleet, key))  # fmt: skip
        plan = make_deploy(request, None)
        assert (plan.refused, plan.strategy) == ((), "create")
