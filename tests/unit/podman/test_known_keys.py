"""What a podman does not know of a quadlet is found before it is written."""

from __future__ import annotations

import pytest

from meshctl.plan.unit_text import read
from meshctl.targets.podman.known_keys import SINCE, too_new
from meshctl.targets.podman.quadlet import quadlet
from tests.unit.podman.made import AMD, unit

ALL = {
    "command": ["/a"],
    "args": ["b"],
    "shm_size": "1GiB",
    "ulimits": {"nofile": "1"},
    "health": ["c"],
    "mounts": {"/m": "/srv"},
}


@pytest.mark.parametrize(
    ("podman", "wanted"),
    [
        ("5.4.2", []),
        ("5.1.0", []),
        ("5.0.3", ["GroupAdd 5.1"]),
        ("4.9.4-rhel", ["Entrypoint 5.0", "GroupAdd 5.1", "Notify=healthy 5.0"]),
        ("10.0", []),
    ],
)
def test_keys_newer_than_podman_are_named_with_their_version(
    podman: str, wanted: list[str]
) -> None:
    text = quadlet(unit(target={"user": "true", "gpus": [AMD]}, of=ALL))

    assert [f"{key.key} {key.since}" for key in too_new(text, podman)] == wanted


def test_every_key_that_is_rendered_is_in_the_table() -> None:
    text = quadlet(unit(target={"user": "true", "gpus": [AMD]}, of=ALL, env={"A": "1"}))

    keys = {entry.key for entry in read(text) if entry.section == "Container"}
    assert keys <= SINCE.keys()


@pytest.mark.parametrize("podman", ["", "podman", "4.3.1", "five"])
def test_a_podman_without_quadlets_or_of_no_version_knows_no_key(podman: str) -> None:
    assert [key.key for key in too_new("[Container]\nImage=a", podman)] == ["Image"]


def test_a_key_that_nobody_told_of_is_not_vouched_for() -> None:
    (found,) = too_new("[Container]\nShiny=1\n[Service]\nOther=1", "5.4.2")

    assert (found.key, found.since) == ("Shiny", "")
