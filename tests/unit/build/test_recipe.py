"""How a recipe becomes a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshctl.build.recipe import Recipe, read_recipe
from meshctl.errors import UsageError
from meshctl.outside.upload import Uploaded
from meshctl.spec.model import Build

STEPS = "steps: [{name: docker, args: [build, -t, $_IMAGE, .]}]\n"
SOURCE = Uploaded("local_cloudbuild", "source/a.tgz", "7", 1, "AAAAAA==")


def recipe(folder: Path, text: str, **build: Any) -> Recipe:
    (folder / "recipe.yaml").write_text(text)
    spec = Build(config="recipe.yaml", context=".", **build)
    return read_recipe(folder / "recipe.yaml", spec, "host/mesh")


def test_the_build_names_its_source_and_the_image_by_tag(tmp_path: Path) -> None:
    body = recipe(tmp_path, STEPS).build("mesh-v3", SOURCE)

    assert body["substitutions"] == {"_IMAGE": "host/mesh:mesh-v3"}
    assert body["source"]["storageSource"] == {
        "bucket": "local_cloudbuild", "object": "source/a.tgz", "generation": "7",
    }  # fmt: skip


@pytest.mark.parametrize("images", ["", "images: [$_IMAGE]\n", "images: ['${_IMAGE}']\n"])
def test_the_image_is_pushed_once_whether_the_recipe_says_so_or_not(
    tmp_path: Path, images: str
) -> None:
    body = recipe(tmp_path, STEPS + images).build("mesh-v3", SOURCE)

    assert len(body["images"]) == 1


def test_the_fleet_fills_in_the_recipes_own_names(tmp_path: Path) -> None:
    text = STEPS + "substitutions: {_DOCKERFILE: Dockerfile, _BASE: small}\n"

    body = recipe(tmp_path, text, substitutions={"_BASE": "large"}).build("v1", SOURCE)

    assert body["substitutions"]["_DOCKERFILE"] == "Dockerfile"
    assert body["substitutions"]["_BASE"] == "large"


@pytest.mark.parametrize(
    ("text", "build", "seconds"),
    [
        (STEPS, {}, 3600),
        (STEPS + "timeout: 900s\n", {}, 900),
        (STEPS + "timeout: 900s\n", {"timeout": "2h"}, 7200),
    ],
)
def test_a_timeout_written_in_the_fleet_wins(
    tmp_path: Path, text: str, build: dict[str, str], seconds: float
) -> None:
    assert recipe(tmp_path, text, **build).timeout_s == seconds


def test_two_spellings_of_one_recipe_have_one_digest(tmp_path: Path) -> None:
    snake = recipe(tmp_path, STEPS + "options: {machine_type: E2_HIGHCPU_8}\n").digest
    camel = recipe(tmp_path, "options: {machineType: E2_HIGHCPU_8}\n" + STEPS).digest

    assert snake == camel


def test_a_changed_step_has_another_digest(tmp_path: Path) -> None:
    before = recipe(tmp_path, STEPS).digest

    after = recipe(tmp_path, STEPS.replace("build, ", "build, --no-cache, ")).digest

    assert before != after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stepz: []\n", "stepz"),
        ("images: [a]\n", "no steps"),
        ("steps: [{name: docker, args: [1.10]}]\n", "not a Cloud Build recipe"),
        ("- a list\n", "not a mapping"),
        ("a: [\n", "not YAML"),
        ("", "not a mapping"),
        (STEPS + "substitutions: {_IMAGE: x}\n", "_IMAGE is meshctl's"),
    ],
)
def test_what_is_no_recipe_is_refused_with_its_file(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        recipe(tmp_path, text)

    assert refused.value.place.endswith("recipe.yaml")


def test_a_missing_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_recipe(tmp_path / "none.yaml", Build(config="none.yaml", context="."), "host/mesh")
