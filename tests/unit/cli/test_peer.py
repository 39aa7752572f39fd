"""What removes the service of a peer that was taken out of an announcement."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshctl.cli.federation import deletion, service_of
from meshctl.cli.settings import Settings
from meshctl.cli.world import World, open_world
from meshctl.outside.objects import DirStore
from meshctl.state.journal import Event, Journal

FLEET = """\
meshctl: 1
fleet: small
targets: {gcp: {kind: cloudrun, project: mine, region: us-central1}}
images: {mesh: {ref: "host/mesh@sha256:%s"}}
services: {chat: {role: coordinator, target: gcp, image: mesh, name: chat-v2}}
""" % ("1" * 64)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fleet whose journals know a peer `old` that the file does not declare any more."""
    (tmp_path / "meshctl.yaml").write_text(FLEET)
    remember(tmp_path, "older")
    return open_world(Settings(fleet=str(tmp_path / "meshctl.yaml")))


def remember(folder: Path, project: str) -> None:
    place = {"kind": "cloudrun", "project": project, "region": "us-east4"}
    opening = {"key": "old", "plan": {"target": "was"}, "place": place}
    event = Event(at="2026-11-30T20:45:00Z", kind="opened", data=opening)
    Journal(DirStore(folder / ".meshctl/state"), f"chat-old.{project}:us-east4.1.s").append(event)


def how_to_delete(world: World, peer: str) -> str:
    found = service_of(world, peer)
    return deletion(*found) if found else ""


def test_a_declared_service_is_removed_where_the_fleet_has_it(world: World) -> None:
    assert how_to_delete(world, "chat") == (
        "gcloud run services delete chat-v2 --region us-central1 --project mine"
    )


def test_one_that_left_the_fleet_file_is_removed_where_its_journal_says_it_is(
    world: World,
) -> None:
    assert how_to_delete(world, "old") == (
        "gcloud run services delete chat-old --region us-east4 --project older"
    )


def test_where_nobody_knows_or_two_journals_differ_no_command_is_guessed(
    world: World, tmp_path: Path
) -> None:
    remember(tmp_path, "another")

    assert [how_to_delete(world, key) for key in ("never", "old")] == ["", ""]
