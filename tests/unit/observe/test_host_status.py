"""A service on a host is what systemd says of its unit; what is not known is no state."""

from __future__ import annotations

import pytest

from meshctl.observe.host_status import host_status, unreached
from meshctl.spec.model import Service
from meshctl.targets.podman.readings.host import HostSeen, parse

MARK = "@mark"
SERVICE = Service(target=("attic",), image="llama")


def seen(properties: str, rc: int = 0) -> HostSeen:
    return parse(f"{MARK} section units {rc}\n{properties}\n{MARK} section end 0\n", MARK)


@pytest.mark.parametrize(
    ("active", "state"),
    [
        ("active", "READY"),
        ("activating", "DEGRADED"),
        ("failed", "FAILED"),
        ("inactive", "STOPPED"),
        ("something new", "UNKNOWN"),
    ],
)
def test_the_state_is_that_of_the_unit(active: str, state: str) -> None:
    said = f"Id=chat.service\nLoadState=loaded\nActiveState={active}\nNRestarts=0"

    assert host_status("chat", SERVICE, "attic", seen(said)).state == state


def test_restarts_are_told() -> None:
    said = "Id=chat.service\nLoadState=loaded\nActiveState=active\nNRestarts=7"

    status = host_status("chat", SERVICE, "attic", seen(said))

    assert "chat.service was restarted 7 times since it was loaded" in status.notes


def test_a_unit_that_is_not_there_is_stopped_and_a_host_that_does_not_say_is_unknown() -> None:
    absent = seen("Id=chat.service\nLoadState=not-found\nActiveState=inactive")

    assert host_status("chat", SERVICE, "attic", absent).state == "STOPPED"
    assert host_status("chat", SERVICE, "attic", seen("", rc=1)).state == "UNKNOWN"
    assert unreached("chat", SERVICE, "attic", "no answer").notes == ("not observed: no answer",)


def test_nothing_says_that_it_is_as_the_fleet_file_wants_it() -> None:
    said = "Id=chat.service\nLoadState=loaded\nActiveState=active\nNRestarts=0"

    assert host_status("chat", SERVICE, "attic", seen(said)).drift is None
