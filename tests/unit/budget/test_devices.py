"""What of a card an engine can use: never the size on the box, and where each figure comes from."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.budget.card import Card, card_of_gpu, card_of_service, card_of_target
from meshctl.budget.devices import DEVICES, device_named, parse_gpu
from meshctl.errors import UsageError
from meshctl.spec.model import Fleet

GIB = 2**30
BOXES = {"L4": 24, "T4": 16, "A100-80G": 80, "H100": 80, "H200": 141, "RTX-PRO-6000": 96,
         "R9700": 32, "RTX-4090": 24}  # fmt: skip


@pytest.mark.parametrize("name", BOXES)
def test_no_card_has_what_its_box_says(name: str) -> None:
    device = device_named(name)

    assert device is not None
    assert 0.85 * BOXES[name] * 10**9 < device.usable_bytes < BOXES[name] * GIB


def test_every_row_says_where_its_figure_comes_from() -> None:
    assert [row.name for row in DEVICES if not row.text] == []
    assert {row.source for row in DEVICES} == {"measured", "assumed"}
    assert {row.name: row.source for row in DEVICES}["R9700"] == "assumed"


def test_no_two_rows_answer_to_one_name() -> None:
    names = [name.lower() for row in DEVICES for name in (row.name, *row.aliases)]

    assert len(names) == len(set(names))
    assert all(device_named(name) is not None for name in names)


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [("L4", "L4", 1), ("l4x4", "L4", 4), ("R9700x2", "R9700", 2), ("MI300X", "MI300X", 1),
     ("MI300Xx8", "MI300X", 8), ("nvidia-rtx-pro-6000", "RTX-PRO-6000", 1),
     ("rtx pro 6000x2", "RTX-PRO-6000", 2)],
)  # fmt: skip
def test_a_card_is_spelled_as_people_do(text: str, name: str, count: int) -> None:
    device, found = parse_gpu(text)

    assert (device.name, found) == (name, count)


@pytest.mark.parametrize("text", ["L5", "L4x0", "L4x65", "L4x", "x2", "L4xtwo", "", "L4x٣"])
def test_a_card_that_nobody_knows_is_refused_with_near_names(text: str) -> None:
    with pytest.raises(UsageError) as wrong:
        parse_gpu(text)

    assert wrong.value.hint


def fleet(**gpu: Any) -> Fleet:
    gpus = [{"name": "R9700", "memory": "31.86GiB", "count": 2} | gpu] if gpu != {"none": 1} else []
    return Fleet.model_validate(
        {
            "meshctl": 1, "fleet": "test",
            "targets": {
                "attic": {"kind": "podman", "address": "ops@attic", "gpus": gpus},
                "gcp": {"kind": "cloudrun", "project": "project", "region": "here"},
            },
            "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
            "services": {
                "large": {"target": "gcp", "image": "i", "resources": {"gpu": "nvidia-l4"}},
                "small": {"target": "gcp", "image": "i", "resources": {"memory": "2GiB"}},
            },
        }
    )  # fmt: skip


def on_attic(**gpu: Any) -> Card:
    return card_of_target(fleet(**gpu), "attic")


def test_what_a_host_measured_goes_before_the_table() -> None:
    card = on_attic(memory="31GiB")

    assert (card.usable_bytes, card.source, card.count) == (31 * GIB, "config", 2)
    assert on_attic(memory="31.9GiB").source == "config", "a newer driver may give a little more"


def test_the_size_on_the_box_is_not_believed() -> None:
    card = on_attic(memory="34GiB")

    assert (card.usable_bytes, card.source) == (round(31.86 * GIB), "assumed")
    assert "attic says 34 GiB" in card.text


def test_a_card_that_no_table_knows_is_what_the_fleet_says() -> None:
    card = on_attic(name="Z1000", memory="500GiB")

    assert (card.usable_bytes, card.source) == (500 * GIB, "config")


def test_how_much_of_shared_memory_a_card_gets_is_the_hosts_own_affair() -> None:
    card = on_attic(name="Strix-Halo", memory="114GiB", count=1)

    assert (card.usable_bytes, card.unified) == (114 * GIB, True)


def test_a_host_that_declares_no_cards_is_asked_to() -> None:
    with pytest.raises(UsageError, match="declares no cards"):
        on_attic(none=1)


def test_a_service_on_cloud_run_has_the_card_or_the_memory_of_its_instance() -> None:
    of = fleet()
    large, small = (card_of_service(of, of.services[key], "gcp") for key in ("large", "small"))

    assert (large.name, large.usable_bytes, large.shared) == ("L4", round(22.04 * GIB), False)
    assert (small.usable_bytes, small.host) == (2 * GIB, True)
    with pytest.raises(UsageError, match="gives each service the card"):
        card_of_target(of, "gcp")


def test_several_cards_are_spelled_as_they_are_asked_for() -> None:
    assert card_of_gpu("r9700x2").spelled == "R9700x2"
