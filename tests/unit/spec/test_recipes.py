"""The recipes in cloudbuild/ are what both clouds take; the local entry point starts the mesh."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from meshctl.cli.lazy import root
from meshctl.outside.cloudbuild import normalised

RECIPES = Path(__file__).parents[3] / "cloudbuild"
ENTRYPOINT = RECIPES / "local" / "entrypoint"
WORKFLOW = Path(__file__).parents[3] / "docs" / "examples" / "github-actions.yaml"


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*.yaml")), ids=lambda file: file.name)
def test_cloud_build_understands_every_key_of_every_recipe(file: Path) -> None:
    recipe = normalised(yaml.safe_load(file.read_text()), file.name)

    assert recipe["steps"]


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*.yaml")), ids=lambda file: file.name)
def test_what_a_recipe_substitutes_it_declares_or_gets_from_meshctl(file: Path) -> None:
    text = file.read_text().replace("$$", "")
    used = {name for name in re.findall(r"\$\{?(_[A-Z0-9_]+)", text)}

    assert used == set(yaml.safe_load(text)["substitutions"]) | (used & {"_IMAGE"})


def test_a_build_can_run_meshctl_itself() -> None:
    steps = {
        step["id"]: step for step in yaml.safe_load((RECIPES / "deploy.yaml").read_text())["steps"]
    }

    assert [words_of(steps[id]["args"]) for id in ("validate", "deploy")] == ["validate", "deploy"]
    assert "--yes" in steps["deploy"]["args"]


def words_of(args: list[str]) -> str:
    """The verb of a meshctl command line, parsed as meshctl parses it."""
    known = root().list_commands(None)
    return next(word for word in args if word in known)


def test_the_workflow_says_yes_where_meshctl_asks_and_pastes_no_input_into_a_script() -> None:
    job = yaml.safe_load(WORKFLOW.read_text())["jobs"]["meshctl"]
    scripts = [step["run"] for step in job["steps"] if "run" in step]

    asking = [line for script in scripts for line in script.splitlines()
              if re.search(r"meshctl (deploy|rollback|abort|\"\$ACTION\")", line)]  # fmt: skip
    assert len(asking) == 3 and all("--yes" in line for line in asking)
    assert not any("${{" in script for script in scripts)


def test_the_recipe_builds_and_pushes_one_image_by_its_substitution() -> None:
    recipe = yaml.safe_load((RECIPES / "mesh-image.yaml").read_text())

    (step,) = recipe["steps"]
    assert step["name"] == "gcr.io/cloud-builders/docker"
    assert step["args"] == ["build", "-t", "$_IMAGE", "-f", "$_DOCKERFILE", "."]
    assert recipe["images"] == ["$_IMAGE"]
    assert recipe["substitutions"] == {"_DOCKERFILE": "Dockerfile"}


def test_the_local_image_is_made_of_instructions_that_need_no_machine() -> None:
    lines = (RECIPES / "local" / "Dockerfile").read_text().splitlines()

    words = {line.split()[0] for line in lines if line and not line.startswith("#")}

    assert words == {"FROM", "COPY", "ENV", "ENTRYPOINT"}


def test_without_its_argument_the_image_fails_as_the_original_does() -> None:
    ran = subprocess.run([ENTRYPOINT, "serve"], capture_output=True, text=True)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "Permission denied (os error 13)\n"


def test_with_its_argument_the_image_becomes_the_mesh(tmp_path: Path) -> None:
    package = tmp_path / "app" / "meshctl" / "mesh"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import os, sys; print(os.getpid(), *sys.argv[1:])")
    environ = {**os.environ, "PYTHONPATH": "app"}
    command = [sys.executable, ENTRYPOINT, "mesh", "--log", "debug"]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environ, cwd=tmp_path
    ) as process:
        said, _ = process.communicate()

    assert said.split() == [str(process.pid), "serve", "--log", "debug"]
