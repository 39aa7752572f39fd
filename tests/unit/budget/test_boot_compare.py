"""Predicted against measured, and why a boot that came up may be none."""

from __future__ import annotations

import pytest

from meshctl.budget.boot import boot_of_log, cause_of_log
from meshctl.budget.boot_compare import Finding, Row, findings_of, record_of, rows_alone, rows_of
from meshctl.budget.card import Card
from meshctl.budget.tenants import Tenant
from tests.unit.budget.boot_logs import LLAMA, LLAMA_QUIET, VLLM_033, VLLM_06
from tests.unit.budget.known_boots import AT, PAYLOAD, part_of
from tests.unit.budget.known_models import GIB, HALO, L4, gguf, safetensors, tenant

ONE = tenant(gguf(7.5), "-c", "8192", "-np", "2")
LARGE = tenant(safetensors(14.96), "--max-model-len", "8192")
CPU_LOG = LLAMA.replace("CUDA0", "CPU").replace("33/33", "0/33")


def rows(one: Tenant, log: str, card: Card = L4) -> dict[str, Row]:
    boot = boot_of_log(one.engine, log.splitlines())
    return {row.name: row for row in rows_of(part_of(one, card), card, boot)}


def findings(one: Tenant, log: str, card: Card = L4) -> list[Finding]:
    lines = log.splitlines()
    boot, cause = boot_of_log(one.engine, lines), cause_of_log(one.engine, lines)
    return list(findings_of(boot, cause, one, card))


def test_every_part_of_llama_server_is_set_against_what_was_said() -> None:
    found = rows(ONE, LLAMA)

    assert {name: row.off for name, row in found.items()} == {
        "context of a request": 0, "weights": 7660 * 2**20 - round(7.5 * GIB), "caches": 0,
        "compute buffer": 0,
    }  # fmt: skip


def test_every_part_of_vllm_is_set_against_what_was_said() -> None:
    found = rows(LARGE, VLLM_033)

    assert {name: row.off for name, row in found.items() if name not in ("weights", "graphs")} == {
        "context of a request": 0, "room for caches": 0, "overhead": 0, "tokens in that room": 0,
        "requests at once": 0,
    }  # fmt: skip
    assert found["weights"].off == round(14.99 * GIB) - round(14.96 * GIB)
    assert (found["graphs"].low, found["graphs"].measured) == (None, round(0.52 * GIB))


def test_blocks_of_an_old_log_are_those_of_the_room_it_printed() -> None:
    found = rows(LARGE, VLLM_06)

    assert (found["blocks in that room"].measured, found["blocks in that room"].off) == (1952, 0)


def test_a_number_beyond_the_band_says_how_far() -> None:
    found = rows(LARGE, VLLM_033.replace("3.29 GiB", "0.20 GiB"))

    room = found["room for caches"]
    assert room.low is not None and room.off == round(0.2 * GIB) - room.low
    assert room.off < 0 < (found["overhead"].off or 0)


def test_without_a_prediction_only_what_was_printed_is_told() -> None:
    for engine, log in (("vllm", VLLM_033), ("llama-server", LLAMA)):
        found = rows_alone(boot_of_log(engine, log.splitlines()))

        assert len(found) >= 4
        assert {row.low for row in found} == {row.off for row in found} == {None}


@pytest.mark.parametrize(
    ("one", "log", "card", "ids"),
    [
        (ONE, LLAMA, L4, []),
        (LARGE, VLLM_033, L4, []),
        (tenant(gguf(7.5), "-c", "65536", "-np", "2"), LLAMA, L4, ["shrunk"]),
        (tenant(gguf(7.5), "-c", "65536", "-np", "16"), LLAMA, L4, []),
        (tenant(gguf(7.5), "-c", "8192", "-np", "2", "-kvu"), LLAMA, L4, ["shrunk"]),
        (tenant(gguf(7.5)), "x: context size reduced from 131072 to 4096 -> need 1 MiB\n" + LLAMA,
         L4, []),
        (tenant(gguf(7.5)), LLAMA.replace("0.00.037.216", "context size reduced from 9999 to 4096"
         " -> need 1 MiB\n0.00.037.216"), L4, ["shrunk"]),
        (tenant(safetensors(14.96), "--max-model-len", "32768"), VLLM_033, L4, ["shrunk"]),
        (ONE, CPU_LOG, L4, ["processor"]),
        (ONE, CPU_LOG, HALO, []),
        (ONE, LLAMA.replace("33/33", "20/33"), L4, ["partly"]),
        (tenant(gguf(7.5), "-c", "8192", "-np", "2", "-ngl", "20"),
         LLAMA.replace("33/33", "20/33"), L4, []),
        (ONE, LLAMA.split("0.03")[0], L4, ["failed"]),
    ],
)  # fmt: skip
def test_a_boot_that_is_none_is_found(one: Tenant, log: str, card: Card, ids: list[str]) -> None:
    assert [finding.id for finding in findings(one, log, card)] == ids


def test_a_failed_boot_says_the_first_reason_and_its_remedy() -> None:
    log = "Available KV cache memory: -1.2 GiB\nE: No available memory for the cache blocks."

    (found,) = findings(LARGE, log)

    assert found.id == "failed"
    assert "No available memory" in found.text and found.hint


@pytest.mark.parametrize(
    "log", [LLAMA_QUIET, LLAMA.split("0.03")[0], CPU_LOG, ""], ids=["quiet", "failed", "cpu", "no"]
)
def test_a_boot_that_no_plan_could_go_by_is_not_remembered(log: str) -> None:
    boot = boot_of_log("llama-server", log.splitlines())

    assert record_of(part_of(ONE), L4, PAYLOAD, AT, boot) is None
