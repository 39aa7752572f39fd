"""Of a card's memory a number is right, or there is none, and then it says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.targets.podman.readings import amd, nvidia
from meshctl.targets.podman.readings.gpu import CardSeen, Pool, agreed
from meshctl.targets.podman.readings.value import Known, Unknown

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/readings/cards.yaml").read_text())
GIB = 2**30


def cards(case: dict[str, Any]) -> tuple[CardSeen, ...]:
    said = {tool: case.get(tool, "") for tool in ("nvidia", "drm", "rocm", "amdsmi")}
    amds = (amd.drm(said["drm"]), amd.rocm(said["rocm"]), amd.amdsmi(said["amdsmi"]))
    return (*nvidia.cards(said["nvidia"]), *agreed(*amds))


def numbers(reading: Known[Pool] | Unknown) -> list[int] | None:
    if isinstance(reading, Unknown):
        return None
    return [reading.value.total_bytes, reading.value.used_bytes]


def of(total: int, used: int = 0) -> Known[Pool]:
    return Known[Pool](value=Pool(total_bytes=total, used_bytes=used), source="test")


def card(memory: int, gtt: int) -> CardSeen:
    return CardSeen(vendor="amd", name="x", id="card0", memory=of(memory), gtt=of(gtt))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["it"])
def test_a_recorded_output_is_read_as_its_case_says(case: dict[str, Any]) -> None:
    seen = cards(case)

    assert case["from"]
    assert [(one.name, numbers(one.memory)) for one in seen] == [
        (one["name"], one["memory"]) for one in case["cards"]
    ]
    for one, wanted in zip(seen, case["cards"], strict=True):
        assert "gtt" not in wanted or numbers(one.gtt) == wanted["gtt"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["it"])
def test_what_is_unknown_keeps_what_was_said(case: dict[str, Any]) -> None:
    unread = [one.memory for one in cards(case) if isinstance(one.memory, Unknown)]

    assert all(one.reason and one.raw for one in unread)


def test_a_small_carve_out_means_the_shared_memory() -> None:
    strix = card(memory=512 * 2**20, gtt=114 * GIB)

    assert strix.pool() == of(114 * GIB)


def test_a_discrete_card_is_not_as_large_as_the_main_memory_lets_its_gtt_be() -> None:
    assert card(memory=32 * GIB, gtt=64 * GIB).pool() == of(32 * GIB)


def test_a_fleet_file_that_says_unified_means_the_larger_pool() -> None:
    assert card(memory=16 * GIB, gtt=64 * GIB).pool(unified=True) == of(64 * GIB)
    assert card(memory=96 * GIB, gtt=15 * GIB).pool(unified=True) == of(96 * GIB)


def test_mig_slices_are_told_of_their_card() -> None:
    text = (
        "index, uuid, name, memory.total [MiB], memory.used [MiB]\n0, GPU-a1, H, 81559 MiB, 1 MiB\n"
    )
    listing = "GPU 0: H (UUID: GPU-a1)\n  MIG 1g.10gb     Device  0: (UUID: MIG-b2)\n"

    [one] = nvidia.cards(text, listing)

    assert one.slices == ("1g.10gb MIG-b2",)


def test_processes_on_cards_are_told_with_what_they_hold() -> None:
    text = (
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "GPU-a1, 6330, sglang::scheduler, 96073 MiB\nGPU-a1, 7, x, [N/A]\nGPU-a1, [N/A], y, 1 MiB\n"
    )

    found = nvidia.apps(text)

    assert [(one.pid, one.used_bytes) for one in found] == [(6330, 96073 * 2**20), (7, None)]
