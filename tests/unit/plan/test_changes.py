"""What differs between two releases is told by the keys of the fleet file."""

from __future__ import annotations

import json

from meshctl.plan.release import Template, changes
from tests import builders


def with_models(*entries: dict[str, object]) -> Template:
    env = (("MESH_DEFAULT_MODEL", "tiny"), ("MESH_MODELS", json.dumps(entries)))
    return builders.template().model_copy(update={"env": env})


def test_a_model_is_compared_key_by_key_and_not_as_one_hash() -> None:
    files = [{"path": "a", "bytes": 7, "sha256": "0" * 64}]
    old = with_models({"id": "tiny", "context": 2048, "files": files})
    new = with_models({"id": "tiny", "context": 1024, "files": files})

    (change,) = changes(old, new)

    assert (change.path, change.before, change.after) == ("models.tiny.context", "2048", "1024")


def test_a_registry_that_is_none_is_compared_as_the_variable_it_is() -> None:
    old, new = (
        with_models(),
        builders.template().model_copy(update={"env": (("MESH_MODELS", "{not json"),)}),
    )

    assert [change.path for change in changes(old, new) if "MESH_MODELS" in change.path] == [
        "env.MESH_MODELS"
    ]


def test_another_file_under_the_same_name_is_told_by_its_digest() -> None:
    old = with_models({"id": "tiny", "files": [{"path": "a", "bytes": 7, "sha256": "0" * 64}]})
    new = with_models({"id": "tiny", "files": [{"path": "a", "bytes": 7, "sha256": "1" * 64}]})

    (change,) = changes(old, new)

    assert change.path == "models.tiny.files.a"
    assert change.after == f"7 bytes, sha256:{'1' * 64}"


def test_a_models_env_is_compared_variable_by_variable() -> None:
    old = with_models({"id": "tiny", "env": {"KEPT": "1", "HF_TOKEN": "hf_old", "GONE": "x"}})
    new = with_models({"id": "tiny", "env": {"KEPT": "1", "HF_TOKEN": "hf_new"}})

    found = {change.path: (change.before, change.after) for change in changes(old, new)}

    assert found == {
        "models.tiny.env.GONE": ("x", None),
        "models.tiny.env.HF_TOKEN": ("hf_old", "hf_new"),
    }
