"""What somebody woken at night sees when the fleet file is broken, gone, or in another folder."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meshctl.cli.settings import Settings
from meshctl.cli.world import World, open_world
from meshctl.ui import answers
from meshctl.ui.output import Output
from tests.emulator.bench import Bench, call, until

BROKEN = "meshctl: 1\nfleet: bench\nservices: [\n"


@pytest.fixture
def red(bench: Bench) -> dict[str, Any]:
    """A release that serves."""
    deployed: dict[str, Any] = bench.deploy("chat")
    return deployed


def only(document: dict[str, Any]) -> dict[str, Any]:
    """The one service of a status, which is a `status/v1` as ever."""
    answers.Status.model_validate(document)
    (entry,) = document["services"]
    return dict(entry)


def break_(bench: Bench, trouble: str) -> None:
    bench.file.unlink()
    if trouble == "broken":
        bench.file.write_text(BROKEN)


def as_if_started_here(bench: Bench) -> str:
    """The journals as they are when the target says `emulator: true`; where they are."""
    for event in bench.folder.glob(".meshctl/state/runs/*/*.json"):
        event.write_text(event.read_text().replace(f'"{bench.url}"', "true"))
    return str(bench.folder / ".meshctl/state")


@pytest.mark.parametrize("trouble", ["broken", "gone"])
def test_status_tells_what_serves_by_the_journal(
    bench: Bench, red: dict[str, Any], trouble: str
) -> None:
    before = only(bench.json("status"))
    break_(bench, trouble)

    now = only(bench.json("status", "chat"))

    assert now == only(bench.json("status"))
    real = ("name", "target", "state", "since", "who", "url", "pinned", "release", "serving")
    assert (now["state"], now["release"]) == ("READY", red["to_release"])
    assert {key: now[key] for key in real} == {key: before[key] for key in real}
    assert (now["role"], now["drift"], now["cost"]) == (None, None, None)
    assert any("role, drift and cost are unknown" in note for note in now["notes"])


def test_the_mistake_in_the_file_is_said_beside_what_serves(
    bench: Bench, red: dict[str, Any]
) -> None:
    break_(bench, "broken")

    told = bench.meshctl("status", "chat")

    assert re.search(rf"^  {re.escape(str(bench.file))}:\d+:\d+:\s", told.err, re.MULTILINE)
    assert "`meshctl validate`" in told.err
    assert "! role, drift and cost are unknown" in told.out
    assert max(map(len, told.out.splitlines())) <= 80


def test_drift_that_nobody_can_tell_is_not_none(bench: Bench, red: dict[str, Any]) -> None:
    assert bench.json("status", "--exit-code", "chat")["services"][0]["drift"] == []
    break_(bench, "gone")

    unknown = bench.json("status", "--exit-code", "chat", code=64)

    assert only(unknown)["state"] == "READY"


def test_status_names_the_run_that_nobody_ended(bench: Bench, red: dict[str, Any]) -> None:
    bench.env(MODE="busy", COLOUR="blue")
    bench.json("canary", "chat", "-y", code=7)
    break_(bench, "broken")

    told = only(bench.json("status", "chat"))
    bench.json("abort", "chat", "-y")

    assert any("`meshctl abort chat`" in note for note in told["notes"])
    assert only(bench.json("status", "chat"))["tags"] == []


def test_a_service_that_left_the_fleet_file_is_shown_beside_one_that_is_in_it(
    bench: Bench, red: dict[str, Any]
) -> None:
    bench.declare("other")
    text = bench.file.read_text().replace("  chat: ", "  x-chat: ")
    bench.file.write_text(text.replace("x-chat", "newcomer", 1))

    told = bench.json("status", "chat", "other")
    unknown = bench.json("status", "chat", "othr", code=64)

    found = {one["name"]: (one["state"], one["role"]) for one in told["services"]}
    assert found == {"other": ("STOPPED", "standalone"), "chat": ("READY", None)}
    assert 'did you mean "other"?' in unknown["hint"]


def test_a_service_that_its_journal_saw_serve_is_not_just_stopped(
    bench: Bench, red: dict[str, Any]
) -> None:
    call(bench.url, "DELETE", f"/v2/projects/local/locations/local1/services/{bench.name}")
    until(lambda: bench.service() is None)
    break_(bench, "gone")

    told = only(bench.json("status", "chat"))

    assert (told["state"], told["serving"]) == ("STOPPED", [])
    assert any("it is not there: deleted" in note for note in told["notes"])


@pytest.mark.parametrize(
    ("verb", "trouble"),
    [("status", "broken"), ("status", "gone"), ("rollback", "broken"), ("verify", "gone")],
)
def test_without_a_journal_the_way_to_one_is_named(bench: Bench, verb: str, trouble: str) -> None:
    break_(bench, trouble)

    refused = bench.json(verb, "chat", "-y", code=64)

    assert "--state PLACE" in refused["hint"]
    assert "`meshctl status`" in refused["hint"] and "`rollback`" in refused["hint"]
    assert refused["place"].startswith(str(bench.file))


def test_verify_asks_what_the_release_was_asked_when_it_was_placed(
    bench: Bench, red: dict[str, Any]
) -> None:
    declared = bench.json("verify", "chat")
    break_(bench, "broken")

    recorded = bench.json("verify", "chat")

    names = [check["name"] for check in recorded["checks"]]
    assert recorded["verdict"] == "pass"
    assert names == [check["name"] for check in declared["checks"]]
    assert set(names) == {"reachable", "identity", "completion"}


def test_verify_does_not_guess_what_a_strangers_revision_is_to_be_asked(
    bench: Bench, red: dict[str, Any]
) -> None:
    template = {**(bench.service() or {})["template"], "timeout": "61s"}
    template = {key: template[key] for key in template if key not in ("revision", "labels")}
    path = f"/v2/projects/local/locations/local1/services/{bench.name}?updateMask=template"
    assert call(bench.url, "PATCH", path, {"template": template})[0] == 200
    until(lambda: len(bench.revisions()) == 2)
    names = [str(one["name"]).rpartition("/")[2] for one in bench.revisions()]
    (strange,) = (name for name in names if name != red["revision"])
    break_(bench, "gone")

    refused = bench.json("verify", "chat", "--revision", strange, code=64)

    assert "what to ask" in refused["message"] and strange in refused["message"]
    assert "`meshctl validate`" in refused["hint"]
    assert "`meshctl status chat`" in refused["hint"]


def test_no_empty_cloud_is_started_to_deny_that_a_service_exists(
    bench: Bench, red: dict[str, Any], tmp_path: Path
) -> None:
    state, lost = as_if_started_here(bench), tmp_path / "lost"
    lost.mkdir()
    words = ("-f", str(lost / "meshctl.yaml"), "--state", state)

    verbs = ("rollback", "resume", "abort")
    away = [bench.json(*words, verb, "chat", "-y", code=6) for verb in verbs]

    assert {one["class"] for one in away} == {"Unreachable"}
    assert all(str(lost) in one["message"] and "-f FILE" in one["hint"] for one in away)
    assert list(lost.iterdir()) == []


def test_status_and_history_say_that_the_embedded_cloud_is_not_here(
    bench: Bench, red: dict[str, Any], tmp_path: Path
) -> None:
    state, lost = as_if_started_here(bench), tmp_path / "lost"
    lost.mkdir()
    words = ("-f", str(lost / "meshctl.yaml"), "--state", state)

    told = only(bench.json(*words, "status", "chat", code=6))
    past = bench.json(*words, "history", "chat")

    assert (told["state"], told["drift"]) == ("UNKNOWN", None)
    assert str(lost) in told["notes"][0] and "-f FILE" in told["notes"][0]
    assert str(lost) in past["notes"][0] and "unknown" in past["notes"][0]
    assert past["releases"][0]["release"] == red["to_release"]
    assert list(lost.iterdir()) == []


def test_a_named_file_that_is_gone_is_no_hindrance_where_its_cloud_is_there(
    bench: Bench, built: Bench, red: dict[str, Any]
) -> None:
    bench.env(COLOUR="blue")
    bench.deploy("chat")
    gone = ("-f", str(built.folder / "gone.yaml"), "--state", as_if_started_here(bench))

    back = bench.json(*gone, "rollback", "chat", "-y")
    now = only(bench.json(*gone, "status", "chat"))

    assert bench.split() == {red["revision"]: 100}
    assert back["to_release"] == now["release"] == red["to_release"]


def heard(folder: Path, *, terminal: bool, quiet: bool = False) -> str:
    """What is said when a cloud is asked for that the target starts by itself."""

    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    stderr = Stream()
    world = open_world(Settings(fleet=str(folder / "meshctl.yaml"), quiet=quiet))
    output = Output("table", quiet=quiet, stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr)
    mine: World = replace(world, output=output)
    try:
        assert mine.cloud("local").endpoint == mine.cloud("local").endpoint
    finally:
        mine.embedded().stop()
    return stderr.getvalue()


def test_a_new_embedded_cloud_is_told_once_and_only_to_a_person(tmp_path: Path) -> None:
    text = "meshctl: 1\nfleet: f\ntargets:\n  local: {kind: cloudrun, project: local, region: r1, "
    for name in ("piped", "quiet", "person"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meshctl.yaml").write_text(f"{text}emulator: true}}\n")

    piped = heard(tmp_path / "piped", terminal=False)
    quiet = heard(tmp_path / "quiet", terminal=True, quiet=True)
    first, again = (heard(tmp_path / "person", terminal=True) for _ in range(2))

    assert (piped, quiet) == ("", "")
    assert first.count("a new embedded cloud, still empty") == 1
    assert "new embedded cloud" not in again
