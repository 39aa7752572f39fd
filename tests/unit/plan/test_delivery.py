"""Payloads are baked or mounted, or the plan says at once why they cannot get there."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.delivery import files_of, mounts_of, objects_of, problems
from meshctl.plan.release import Mount, release_of
from meshctl.plan.wanted import wanted_release
from meshctl.spec.model import Fleet
from tests.builders import IMAGE, place, service, template

FILE = {"bytes": 4_000_000_000, "sha256": "a" * 64}


def fleet(source: str = "gs://models/qwen", *files: str, **changed: Any) -> Fleet:
    """A fleet whose one model is loaded from a payload."""
    payload = {"source": source, "files": dict.fromkeys(files or ("q.gguf",), FILE)}
    changed = {"deliver": "mount", "models": {"m": {"payload": "qwen"}},
               "resources": {"memory": "8Gi", "cpu": 2}} | changed  # fmt: skip
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "test",
            "targets": {"local": {"kind": "cloudrun", "project": "local", "region": "local1"}},
            "images": {"mesh": {"ref": IMAGE}},
            "payloads": {"qwen": payload},
            "services": {"chat": service(**changed)},
        }
    )


def wrong(of: Fleet) -> list[tuple[str, str]]:
    return [(key, message) for key, message, _ in problems(of, of.services["chat"])]


@pytest.mark.parametrize(
    ("source", "file", "folder", "object_"),
    [
        ("gs://models/qwen", "q.gguf", "qwen", "gs://models/qwen/q.gguf"),
        ("gs://models/qwen/", "q.gguf", "qwen", "gs://models/qwen/q.gguf"),
        ("gs://models/a/q.gguf", "q.gguf", "a", "gs://models/a/q.gguf"),
        ("gs://models/q.gguf", "q.gguf", "", "gs://models/q.gguf"),
        ("gs://models/a", "b/q.gguf", "a", "gs://models/a/b/q.gguf"),
    ],
)
def test_a_mounted_payload_is_a_folder_of_its_bucket_where_the_mesh_looks(
    source: str, file: str, folder: str, object_: str
) -> None:
    of = fleet(source, file)

    assert mounts_of(of, of.services["chat"]) == (
        Mount(path="/models/qwen", bucket="models", folder=folder),
    )
    assert objects_of(of, of.services["chat"]) == {f"qwen/{file}": object_}


def test_the_mesh_is_told_where_the_mounts_are_unless_the_service_says_so() -> None:
    plain, own = fleet(), fleet(env={"MESH_MODELS_DIR": "/data/"})

    releases = [wanted_release(f, f.services["chat"], place(f), IMAGE) for f in (plain, own)]

    assert releases[0].template.environment["MESH_MODELS_DIR"] == "/models"
    assert releases[0].template.mounts[0].path == "/models/qwen"
    assert releases[1].template.environment["MESH_MODELS_DIR"] == "/data/"
    assert releases[1].template.mounts[0].path == "/data/qwen"


def test_a_baked_payload_is_not_mounted() -> None:
    of = fleet(deliver="bake")

    assert mounts_of(of, of.services["chat"]) == ()
    assert objects_of(of, of.services["chat"]) == {}
    assert list(files_of(of, of.services["chat"])) == ["qwen/q.gguf"]


def test_only_a_bucket_can_be_mounted() -> None:
    of = fleet("r2://models/q.gguf")

    assert wrong(of) == [
        ("deliver", "payload qwen lies in r2:, and only a bucket of Cloud Storage can be mounted")
    ]


def test_a_mount_needs_a_whole_processor_and_an_absolute_path() -> None:
    of = fleet(resources={"cpu": 0.5, "memory": "8Gi"}, env={"MESH_MODELS_DIR": "models"})

    assert [key for key, _ in wrong(of)] == ["resources.cpu", "env.MESH_MODELS_DIR"]


@pytest.mark.parametrize(
    ("memory", "gpu", "fits"),
    [
        ("8Gi", None, True),
        ("2Gi", None, False),
        ("2Gi", "nvidia-l4", True),
        ("8000000000", None, True),
        ("7999999999", None, False),
    ],
)
def test_weights_larger_than_all_memory_are_refused(memory: str, gpu: str, fits: bool) -> None:
    of = fleet("gs://m/q", "a.gguf", "b.gguf", resources={"cpu": 4, "memory": memory, "gpu": gpu})

    assert [key for key, _ in wrong(of)] == ([] if fits else ["models.m"])


def test_a_service_without_payloads_has_nothing_to_deliver() -> None:
    assert wrong(fleet(deliver="fetch", models={"m": {}})) == []


def test_releases_without_mounts_keep_the_names_they_had() -> None:
    """The id of template() as it was before there were mounts."""
    assert release_of(template()).id == release_of(template(mounts=())).id
    assert (
        release_of(template()).id
        != release_of(template(mounts=(Mount(path="/models/x", bucket="b", folder=""),))).id
    )
