"""The commands that ask nothing but files, in this process."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.cli.ask import newest
from meshctl.cli.main import run
from meshctl.cli.share import share_dir
from meshctl.observe.history import Past
from meshctl.state.ledger import Run
from meshctl.ui.documents import Config, Emulator, Schema, Validate

FLEET = """\
meshctl: 1
fleet: small
targets: {real: {kind: cloudrun, project: my-project, region: us-central1}}
images: {llama: {ref: "ghcr.io/ggml-org/llama.cpp@sha256:%s"}}
services:
  chat:
    target: real
    image: llama
    env: {TOKEN: hunter2, KEY: {secret: key, version: "3"}}
""" % ("1" * 64)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshctl.yaml").write_text(FLEET)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_validate_prints_its_kind_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["validate", "-o", "json"])

    assert code == 0
    assert Validate.model_validate(printed(capsys)).errors == ()


def test_validate_says_every_mistake_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "meshctl.yaml").write_text(FLEET.replace("llama\n", "lama\n") + "    prot: 1\n")

    code = run(["-o", "json", "validate"])

    errors = Validate.model_validate(printed(capsys)).errors
    assert code == 64
    assert {error.path for error in errors} == {"services.chat.image", "services.chat.prot"}
    assert all(error.place.startswith("meshctl.yaml:") for error in errors)


BUILT = """\
images: {llama: {repository: host/mesh/llama, tag: "v{n}",
                 build: {config: recipe.yaml, context: sources}}}
"""


def test_validate_warns_of_a_build_whose_recipe_or_context_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = [line for line in FLEET.splitlines(keepends=True) if not line.startswith("images:")]
    (folder / "meshctl.yaml").write_text("".join([*text[:3], BUILT, *text[3:]]))

    gone = (run(["validate", "-o", "json"]), Validate.model_validate(printed(capsys)))
    (folder / "sources").mkdir()
    (folder / "recipe.yaml").write_text("steps: [{name: ubuntu}]")
    there = (run(["validate", "-o", "json"]), Validate.model_validate(printed(capsys)))

    assert (gone[0], there[0], there[1].warnings) == (0, 0, ())
    assert [(one.path, one.place[:14], one.message) for one in gone[1].warnings] == [
        ("images.llama.build.config", "meshctl.yaml:5",
         "recipe.yaml: the recipe cannot be read: No such file or directory"),
        ("images.llama.build.context", "meshctl.yaml:5",
         "sources is no folder beside the fleet file"),
    ]  # fmt: skip


def test_validate_prints_its_kind_for_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["validate", "-f", "gone.yaml", "-o", "json"])

    assert code == 64
    assert Validate.model_validate(printed(capsys)).errors[0].place == "gone.yaml"


def test_config_show_hides_env_values_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    run(["config", "show", "-o", "json"])
    hidden = Config.model_validate(printed(capsys)).fleet["services"]["chat"]["env"]
    run(["config", "show", "--show-values", "-o", "json"])
    shown = Config.model_validate(printed(capsys)).fleet["services"]["chat"]["env"]

    assert hidden["TOKEN"].startswith("sha256:")
    assert hidden["KEY"] == {"secret": "key", "version": "3", "allow_latest": False}
    assert shown["TOKEN"] == "hunter2"


def test_config_show_prints_yaml_with_the_defaults_filled_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["config", "show"])

    fleet = yaml.safe_load(capsys.readouterr().out)
    assert fleet["services"]["chat"]["scaling"] == {
        "min": 0,
        "min_per": "service",
        "max": 1,
        "concurrency": 80,
    }


def test_config_show_prints_a_fleet_file_that_shows_the_same_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["config", "show", "--show-values"])
    once = capsys.readouterr().out
    (folder / "again.yaml").write_text(once)

    code = run(["config", "show", "--show-values", "-f", "again.yaml"])

    assert (code, capsys.readouterr().out) == (0, once)


def test_a_variable_stands_for_an_option_and_no_help_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MESHCTL_CUTOVER_STEPS", "7")

    code = run(["cutover", "chat", "-o", "json"])
    told = printed(capsys)
    run(["cutover", "--help"])

    assert (code, told["message"]) == (64, "--steps '7' is not a way to 100 %")
    assert "env var" not in capsys.readouterr().out


def test_history_keeps_the_newest_rows_and_the_marked_ones() -> None:
    runs = [Run(run=f"{n}", verb="deploy", service="chat", site="real:us", at="", state="closed")
            for n in range(30)]  # fmt: skip
    past = tuple(Past(run=run, serving=n == 25, rollback_to=n == 28) for n, run in enumerate(runs))

    kept = [one.run.run for one in newest(past) if one.run]

    assert kept == [*map(str, range(20)), "25", "28"]


def test_config_schema_is_a_schema_that_the_example_follows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import jsonschema

    run(["config", "schema"])
    schema = printed(capsys)
    run(["config", "schema", "-o", "json"])
    enveloped = Schema.model_validate(printed(capsys))

    assert enveloped.schema_ == schema
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_example_is_a_file_that_validates(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["config", "example"])
    (folder / "example.yaml").write_text(capsys.readouterr().out)

    assert run(["validate", "-f", "example.yaml"]) == 0


def test_the_status_of_an_embedded_cloud_that_never_ran(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["emulator", "status", "-o", "json"])

    assert code == 0
    assert Emulator.model_validate(printed(capsys)) == Emulator(url=None, pid=None, state="stopped")
    assert not (folder / ".meshctl").exists()


def test_names_are_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    run(["config", "show", "-o", "name"])

    assert capsys.readouterr().out == "chat\n"


def test_both_shared_folders_are_found() -> None:
    assert (share_dir("configs") / "example.yaml").is_file()
    assert share_dir("cloudbuild").is_dir()


def test_a_host_that_does_not_answer_is_a_refused_plan_and_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as held:  # bound and not listening: nobody answers there, nor will
        held.bind(("127.0.0.1", 0))
        config = tmp_path / "ssh.conf"
        config.write_text(f"Host *\n  HostName 127.0.0.1\n  Port {held.getsockname()[1]}\n")
        monkeypatch.setenv("MESHCTL_SSH_CONFIG", str(config))

        code = run(["-f", str(share_dir("configs") / "home-fleet.yaml"), "plan", "-o", "json"])

    told = printed(capsys)
    assert (code, told["kind"]) == (6, "plan/v1")
    assert len(told["services"]) > 1
    assert all("cannot be observed" in p["refused"][0]["message"] for p in told["services"])
