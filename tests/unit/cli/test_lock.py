"""Locks by hand, with a fleet file that is well, broken, or gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from meshctl.cli.main import run
from meshctl.outside.objects import DirStore
from meshctl.state.journal import Event, Journal
from meshctl.ui.answers import Locks

FLEET = """\
meshctl: 1
fleet: small
targets: {real: {kind: cloudrun, project: my-project, region: us-central1}}
images: {llama: {ref: "ghcr.io/ggml-org/llama.cpp@sha256:%s"}}
services:
  talk: {name: chat-v2, target: real, image: llama}
  other: {target: real, image: llama}
""" % ("1" * 64)
BROKEN = "services: [\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshctl.yaml").write_text(FLEET)
    return tmp_path


@pytest.fixture
def journal(folder: Path) -> None:
    """One run of talk, which is called chat-v2 on its target."""
    store = DirStore(folder / ".meshctl" / "state")
    opening = {"key": "talk", "plan": {"name": "chat-v2", "target": "real"}}
    at = "2026-11-30T20:45:00Z"
    Journal(store, "chat-v2.my-project:us-central1.1.s").append(
        Event(at=at, kind="opened", data=opening)
    )


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {lock.service: lock.state for lock in Locks.model_validate(printed(capsys)).locks}


def test_a_freeze_is_of_the_service_as_it_is_typed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["lock", "acquire", "talk", "-m", "audit", "-o", "json"])

    assert states(capsys) == {"talk": "frozen"}
    assert (folder / ".meshctl/state/locks/my-project:us-central1/chat-v2.json").exists()


def test_a_second_freeze_names_the_command_that_can_be_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["lock", "acquire", "talk", "-m", "audit", "-q"])
    capsys.readouterr()

    code = run(["lock", "acquire", "talk", "-m", "me too", "-o", "json"])

    told = printed(capsys)
    assert code == 5
    assert told["hint"] == "you froze it; let it go: `meshctl lock release talk`"
    assert told["message"].startswith("talk is frozen by ")


@pytest.mark.parametrize("text", [BROKEN, None])
@pytest.mark.parametrize("words", [("release",), ("break", "--reason", "night", "-y")])
def test_a_frozen_service_is_freed_without_a_fleet_file(
    folder: Path,
    journal: None,
    words: tuple[str, ...],
    text: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["lock", "acquire", "talk", "-m", "audit"])
    (folder / "meshctl.yaml").unlink()
    if text:
        (folder / "meshctl.yaml").write_text(text)
    capsys.readouterr()

    code = run(["lock", words[0], "talk", *words[1:], "-o", "json"])

    assert (code, states(capsys)) == (0, {"talk": "free"})


def test_an_unreadable_lock_is_shown_and_can_only_be_broken(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / ".meshctl/state/locks/my-project:us-central1/chat-v2.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")

    run(["lock", "status", "talk", "-o", "json"])
    shown = states(capsys)
    released = run(["lock", "release", "talk", "-o", "json"])
    hint = printed(capsys)["hint"]
    broken = run(["lock", "break", "talk", "--reason", "damaged", "-y", "-o", "json"])

    assert shown == {"talk": "unreadable"}
    assert (released, "meshctl lock break talk --reason TEXT" in hint) == (5, True)
    assert (broken, states(capsys)) == (0, {"talk": "free"})
    assert '"released"' in file.read_text()


def test_without_a_journal_a_lock_is_found_by_its_own_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["lock", "acquire", "other", "-m", "audit"])
    (folder / "meshctl.yaml").write_text(BROKEN)
    capsys.readouterr()

    code = run(["lock", "status", "-o", "json"])

    assert (code, states(capsys)) == (0, {"other": "frozen"})


def test_a_service_can_be_frozen_while_the_fleet_file_is_broken(
    folder: Path, journal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "meshctl.yaml").write_text(BROKEN)

    code = run(["lock", "acquire", "talk", "-m", "audit", "-o", "json"])

    assert (code, states(capsys)) == (0, {"talk": "frozen"})


def test_an_unknown_service_is_answered_with_what_the_journals_know(
    folder: Path, journal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "meshctl.yaml").write_text(BROKEN)

    code = run(["lock", "release", "tolk", "-o", "json"])

    told = printed(capsys)
    assert code == 64
    assert 'did you mean "talk"?' in told["hint"]


def test_where_nothing_is_remembered_the_broken_file_is_the_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "meshctl.yaml").write_text(BROKEN)

    code = run(["lock", "status", "-o", "json"])

    assert (code, printed(capsys)["class"]) == (64, "SpecError")
