"""The demo's folder: every fleet of the play is one that meshctl accepts, and nothing stays."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import yaml

from meshctl.cli.demo import scenes, stage
from meshctl.cli.demo.extras import EXTRAS, refuse_without_extras
from meshctl.cli.demo.folder import Folder, changed, private_folder
from meshctl.cli.share import share_dir
from meshctl.errors import UsageError
from meshctl.outside.packages import Files
from meshctl.spec.load import load
from meshctl.spec.model import CloudRunTarget, Fleet

CHANGES = [scene.change for scene in scenes.SCENES if scene.change is not None]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "demo")
    made.furnish()
    return made


def fleet_of(folder: Folder) -> Fleet:
    return load(folder.fleet.read_text(), str(folder.fleet), {})


def test_the_fleet_is_the_local_one_and_its_recipe_and_context_are_there(folder: Folder) -> None:
    fleet = fleet_of(folder)

    build = fleet.images["mesh"].build
    target = fleet.targets[stage.TARGET]
    assert build is not None and isinstance(target, CloudRunTarget)
    assert (folder.fleet.parent / build.config).is_file()
    assert (folder.fleet.parent / build.context / "Dockerfile").is_file()
    assert (target.project, target.region) == (stage.PROJECT, stage.REGION)
    assert fleet.services[stage.SERVICE].target == (stage.TARGET,)


def test_every_change_of_the_play_is_a_fleet_of_its_own(folder: Folder) -> None:
    seen = [fleet_of(folder).services]

    for change in CHANGES:
        folder.declare(change)
        seen.append(fleet_of(folder).services)

    assert len(seen) > 4
    assert all(one != other for i, one in enumerate(seen) for other in seen[:i])


def test_a_change_starts_from_the_local_fleet_and_not_from_the_change_before(
    folder: Folder,
) -> None:
    original = folder.fleet.read_text()

    folder.declare(CHANGES[0])
    folder.declare({})

    assert folder.fleet.read_text() == original


def test_the_command_of_the_wedged_engine_names_the_file_that_comes_into_the_context(
    folder: Folder,
) -> None:
    folder.wedge()

    program = scenes.WEDGED[f"{scenes.MODEL}.command"][1]
    assert (folder.context / program).is_file()


def test_a_key_that_is_not_there_yet_is_made_on_the_way() -> None:
    assert changed({"a": {"b": 1}}, {"a.c.d": 2}) == {"a": {"b": 1, "c": {"d": 2}}}


def test_the_private_folder_is_gone_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with pytest.raises(UsageError), private_folder() as folder:
        inside = folder.fleet.is_file()
        raise UsageError("something")

    assert inside
    assert list(tmp_path.iterdir()) == []


def test_the_commands_get_the_demos_fleet_and_no_setting_of_the_operator(folder: Folder) -> None:
    theirs = {"MESHCTL_STATE": "/theirs", "MESHCTL_FLEET": "theirs.yaml", "HOME": "/home/ada"}

    environ = stage.private_environ(theirs, folder)

    assert environ["MESHCTL_FLEET"] == str(folder.fleet)
    assert "MESHCTL_STATE" not in environ
    assert environ["HOME"] == "/home/ada"


def test_what_must_be_installed_is_what_the_local_fleet_takes_files_from() -> None:
    text = (share_dir("configs") / "local.yaml").read_text()
    tree = yaml.safe_load(text)

    sources = [*tree["images"]["mesh"]["build"]["include"].values()]
    sources += [payload["source"] for payload in tree["payloads"].values()]
    names = {s.removeprefix("package:").split("/")[0] for s in sources if "package:" in s}
    assert names - {"meshctl"} == set(EXTRAS)


def test_everything_that_is_missing_is_named_with_the_commands_that_install_it() -> None:
    def nothing(name: str) -> Files:
        raise UsageError(f"{name} is not installed")

    with pytest.raises(UsageError) as refused:
        refuse_without_extras(nothing)

    assert all(name in refused.value.message for name in EXTRAS)
    assert all(command in refused.value.hint for command in EXTRAS.values())
