"""What the fleet file says of a service is what is asked of its host."""

from __future__ import annotations

from pathlib import Path

from meshctl.spec.load import load
from meshctl.spec.model import Fleet, PodmanTarget
from meshctl.targets.podman.needs import asked, needs

FILE = Path(__file__).parents[3] / "configs/home-fleet.yaml"


def home() -> Fleet:
    return load(FILE.read_text(encoding="utf-8"), str(FILE), {})


def host(fleet: Fleet, name: str) -> PodmanTarget:
    target = fleet.targets[name]
    assert isinstance(target, PodmanTarget)
    return target


def test_each_host_of_the_home_fleet_needs_its_own_services_and_cards() -> None:
    fleet = home()

    primary = needs(fleet, "dankserver", host(fleet, "dankserver"))["frank-primary"]

    assert primary.ports == (7770,) and primary.unit == "frank-primary.service"
    assert (
        primary.image == "sha256:da40296611111111111111111111111111111111111111111111111111111111"
    )
    assert [(card.name, card.count, card.vendor) for card in primary.cards] == [("R9700", 2, "amd")]


def test_a_host_is_asked_for_every_unit_that_is_ours_there() -> None:
    fleet = home()
    claw = host(fleet, "dankclaw")

    wanted = needs(fleet, "dankclaw", claw)

    assert asked(claw, wanted).units == ("frank-large.service", "frank-small.service")
