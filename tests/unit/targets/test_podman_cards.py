"""Of a GPU's memory a number is right, or there is none."""

from __future__ import annotations

import pytest

from meshctl.targets.podman.cards import CardSeen, cards

GIB = 2**30
NVIDIA = "index, name, memory.total [MiB], memory.used [MiB]\n"
ROCM = "device,VRAM Total Memory (B),VRAM Total Used Memory (B)\n"
DRM = "/sys/class/drm/card0/device "


def test_nvidia_counts_in_mib_and_names_its_columns() -> None:
    [card] = cards(NVIDIA + "0, NVIDIA L4, 23034 MiB, 1 MiB\n", "", "")

    assert card == CardSeen(
        name="NVIDIA L4", total_bytes=23034 * 2**20, used_bytes=2**20, source="nvidia-smi"
    )


def test_columns_are_found_by_their_names_wherever_they_stand() -> None:
    [card] = cards("index, memory.used [MiB], name, memory.total [MiB]\n0, 5, T4, 15360\n", "", "")

    assert (card.name, card.total_bytes, card.used_bytes) == ("T4", 15360 * 2**20, 5 * 2**20)


@pytest.mark.parametrize(
    "row",
    [
        "0, NVIDIA GB10, [N/A], [N/A]",
        "0, NVIDIA L4, [Insufficient Permissions], 3 MiB",
        "0, NVIDIA L4, 100 MiB, 200 MiB",
        "0, NVIDIA L4, 0 MiB, 0 MiB",
        "0, NVIDIA L4, 22.5 GiB, 1 MiB",
    ],
)
def test_what_is_no_number_or_contradicts_itself_is_unknown_and_quoted(row: str) -> None:
    [card] = cards(NVIDIA + row, "", "")

    assert card.total_bytes is None and card.used_bytes is None
    assert row.split(", ")[2] in card.why


def test_rocm_counts_in_bytes_and_may_warn_first() -> None:
    warning = "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control\n\n"

    [card] = cards("", f"{warning}{ROCM}card0, 25757220864,1048576\n", "")

    assert (card.name, card.total_bytes, card.used_bytes) == ("card0", 25757220864, 2**20)


def test_other_columns_of_rocm_are_passed_over() -> None:
    head = "device,GPU use (%),VRAM Total Used Memory (B),VRAM Total Memory (B),Card Series\n"

    [card] = cards("", f"{head}card1,99,{GIB},{32 * GIB},R9700\n", "")

    assert (card.total_bytes, card.used_bytes) == (32 * GIB, GIB)


def test_of_an_apu_the_shared_pool_is_meant_not_what_the_firmware_carved_out() -> None:
    carved = f"{ROCM}card0,536870912,483183820\n"
    kernel = (
        f"{DRM}vram_total 536870912\n{DRM}vram_used 483183820\n"
        f"{DRM}gtt_total {114 * GIB}\n{DRM}gtt_used {2 * GIB}\n"
    )

    [card] = cards("", carved, kernel)

    assert (card.total_bytes, card.used_bytes) == (114 * GIB, 2 * GIB)
    assert card.source == "the kernel"


def test_without_rocm_the_kernel_is_asked() -> None:
    kernel = f"{DRM}vram_total {16 * GIB}\n{DRM}vram_used {GIB}\n{DRM}gtt_total {8 * GIB}\n"

    [card] = cards("", "", kernel)

    assert (card.name, card.total_bytes, card.used_bytes) == ("card0", 16 * GIB, GIB)


def test_where_no_tool_says_anything_there_is_no_card() -> None:
    assert cards("", "sh: rocm-smi: not found", "garbage\n") == ()
