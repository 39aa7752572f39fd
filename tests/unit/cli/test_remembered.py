"""What a verb stands on when the fleet file is broken, gone, or no longer names the service."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from meshctl.cli.remembered import recalled, remembered, whereabouts
from meshctl.cli.settings import Settings
from meshctl.cli.world import World, open_world
from meshctl.errors import SpecError, Unreachable, UsageError
from meshctl.outside.objects import DirStore
from meshctl.state.journal import Event, Journal
from meshctl.ui.output import Output

FLEET = """\
meshctl: 1
fleet: small
targets:
  here: {kind: cloudrun, project: local, region: local1, emulator: "http://127.0.0.1:9"}
images: {llama: {ref: "ghcr.io/ggml-org/llama.cpp@sha256:%s"}}
services: {chat: {target: here, image: llama}}
""" % ("1" * 64)
ELSEWHERE = {
    "kind": "cloudrun",
    "project": "older",
    "region": "local2",
    "emulator": "http://127.0.0.1:9",
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fleet without `talk`, of which there is one run in the journal."""
    (tmp_path / "meshctl.yaml").write_text(FLEET)
    opening = {"key": "talk", "plan": {"name": "chat-v2", "target": "was"}, "place": ELSEWHERE}
    event = Event(at="2026-11-30T20:45:00Z", kind="opened", data=opening)
    Journal(DirStore(tmp_path / ".meshctl/state"), "chat-v2.older:local2.1.s").append(event)
    made = open_world(Settings(fleet=str(tmp_path / "meshctl.yaml")))
    output = Output("table", stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO())
    return replace(made, output=output)


def talk(world: World) -> str:
    assert isinstance(world.output.stderr, io.StringIO)
    return world.output.stderr.getvalue()


def test_a_service_that_left_the_fleet_file_is_known_by_its_journal(
    world: World,
) -> None:
    with remembered(world, "talk") as (ground, fleet):
        known = (ground.key, ground.name, ground.target.name, ground.place.project)

    assert (known, fleet) == (("talk", "chat-v2", "was", "older"), None)
    assert "does not declare talk; going by the journal of talk" in talk(world)


def test_a_service_of_the_fleet_file_is_taken_from_it(world: World) -> None:
    with remembered(world, "chat") as (ground, fleet):
        assert (ground.name, ground.place.project) == ("chat", "local")
    assert fleet is not None


def test_a_service_that_nothing_is_about_is_answered_with_near_names(world: World) -> None:
    with pytest.raises(UsageError, match="no service named 'chot'") as unknown:
        remembered(world, "chot").__enter__()
    assert "chat" in unknown.value.hint


def begun(world: World, project: str, key: str = "talk", **changed: object) -> None:
    """A run of `chat-v2` in a project, of a fleet that calls it by a key."""
    place = {**ELSEWHERE, "project": project}
    opening = {"key": key, "plan": {"name": "chat-v2", "target": "was"}, "place": place} | changed
    event = Event(at="2026-11-30T20:45:00Z", kind="opened", data=opening)
    Journal(world.store(), f"chat-v2.{project}:local2.2.s").append(event)


def test_a_key_that_several_projects_know_must_be_said_with_its_place(world: World) -> None:
    begun(world, "newer")

    with pytest.raises(UsageError, match="knows talk in several places") as unclear:
        remembered(world, "talk").__enter__()
    with remembered(world, "newer:local2/talk") as (ground, _):
        assert (ground.key, ground.site) == ("talk", "newer:local2")

    assert "newer:local2/talk, older:local2/talk" in unclear.value.hint


def test_the_newest_run_of_a_service_says_what_it_is_called(world: World) -> None:
    begun(world, "older", key="renamed")

    with remembered(world, "renamed") as (ground, _):
        assert ground.name == "chat-v2"
    with pytest.raises(UsageError):
        remembered(world, "talk").__enter__()


@pytest.mark.parametrize("place", [None, [], {"kind": "cloudrun", "project": "B@D"}])
def test_a_journal_that_does_not_say_where_it_was_hides_no_other(
    world: World, place: object
) -> None:
    begun(world, "strange", key="odd", place=place, plan=["no plan"])

    with remembered(world, "talk") as (ground, _):
        assert ground.place.project == "older"
    with pytest.raises(UsageError):
        remembered(world, "odd").__enter__()


def test_a_broken_fleet_file_without_a_journal_says_so(world: World) -> None:
    world.file.write_text("services: [\n")

    with pytest.raises(UsageError, match="no journal is about a service named 'chot'"):
        remembered(world, "chot").__enter__()


def test_where_there_is_no_state_either_the_mistake_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "meshctl.yaml").write_text("services: [\n")
    bare = open_world(Settings(fleet=str(tmp_path / "meshctl.yaml")))

    for ask in (lambda: whereabouts(bare, "talk"), lambda: recalled(bare, [])):
        with pytest.raises(SpecError, match="not YAML") as wrong:
            ask()
        assert "--state PLACE" in wrong.value.hint


def test_the_warning_names_the_mistake_or_asks_where_the_file_is(world: World) -> None:
    world.file.write_text(FLEET.replace("region:", "regoin:"))
    whereabouts(world, "talk")
    broken = talk(world)
    world.file.unlink()
    whereabouts(world, "talk")
    gone = talk(world).removeprefix(broken)

    assert f"{world.file}:4:" in broken and "`meshctl validate`" in broken
    assert "there is no fleet file" in gone and "-f FILE" in gone


def test_an_embedded_cloud_that_is_not_here_is_not_begun_anew(world: World) -> None:
    begun(world, "here", key="mine", place={**ELSEWHERE, "emulator": True})

    with pytest.raises(Unreachable, match="there is none in") as away:
        remembered(world, "mine").__enter__()

    assert str(world.file.parent) in away.value.message
    assert "-f FILE" in away.value.hint
    assert not world.embedded_data.exists()


def test_what_the_fleet_file_declares_is_told_apart_from_what_it_does_not(world: World) -> None:
    both = recalled(world, ["chat", "talk"])
    declared = recalled(world, [])
    lost = recalled(world, ["talk"])

    assert (both.declared, list(both.known)) == (["chat"], ["talk"])
    assert (declared.declared, declared.known) == ([], {})
    assert (lost.declared, list(lost.known)) == (None, ["talk"])


def test_without_a_fleet_file_all_is_told_that_the_state_is_about(world: World) -> None:
    begun(world, "newer")
    begun(world, "strange", key="odd", place=None)
    world.file.unlink()

    unread = replace(world)  # by a process that has not read it yet
    told = recalled(unread, [])

    assert told.declared is None
    assert sorted(told.known) == ["newer:local2/talk", "odd", "older:local2/talk"]
    assert told.known["odd"][1] is None
    with pytest.raises(UsageError, match="no journal is about a service named 'tolk'"):
        recalled(unread, ["talk", "tolk"])
