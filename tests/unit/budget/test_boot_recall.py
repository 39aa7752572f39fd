"""A remembered boot is the truth of the same plan, and a narrower band of one like it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.budget.budget import Budget
from meshctl.budget.card import Card
from meshctl.budget.flags import SERVING, asked_of
from meshctl.budget.on_card import Wanted, budget_on
from meshctl.budget.tenants import Tenant
from tests.unit.budget.boot_logs import LLAMA, VLLM_010, VLLM_033, VLLM_06
from tests.unit.budget.known_boots import booted, knowing
from tests.unit.budget.known_models import GIB, HALO, L4, gguf, safetensors, tenant

MIB = 2**20
OTHER = Card("A40", 1, round(44.35 * GIB), "measured", "engines' logs")


def small(*argv: str) -> Tenant:
    return tenant(gguf(7.5), *(argv or ("-c", "8192", "-np", "2")))


def large(*argv: str) -> Tenant:
    return tenant(safetensors(14.96), *(argv or ("--max-model-len", "8192")))


def sources(budget: Budget) -> dict[str, str]:
    return {line.name: line.source for line in budget.why}


def values(budget: Budget) -> dict[str, Any]:
    return {line.name: line.value for line in budget.why}


def spread(budget: Budget) -> int:
    assert budget.overhead_high_bytes is not None and budget.overhead_low_bytes is not None
    return budget.overhead_high_bytes - budget.overhead_low_bytes


def test_the_same_vllm_is_told_as_it_was_measured() -> None:
    one = large()
    before = budget_on(one, L4)

    after = budget_on(knowing(one, booted(one, VLLM_033)), L4)

    assert (before.weights_bytes, after.weights_bytes) == (
        round(14.96 * GIB), round(14.99 * GIB),
    )  # fmt: skip
    assert {sources(after)[name] for name in ("weights_bytes", "available_kv_bytes",
            "overhead_high_bytes", "engine_version", "measured")} == {"measured"}  # fmt: skip
    assert (after.kv_tokens, after.max_concurrency) == (26_944, 3.29)
    assert after.graphs_bytes == round(0.52 * GIB)
    assert spread(after) == 0 < spread(before)
    assert (before.overhead_low_bytes or 0) < (after.overhead_low_bytes or 0)
    assert (after.overhead_high_bytes or 0) < (before.overhead_high_bytes or 0)


def test_the_same_llama_server_is_told_as_it_was_measured() -> None:
    one = small()
    before = budget_on(one, L4)

    after = budget_on(knowing(one, booted(one, LLAMA)), L4)

    assert after.weights_bytes == 7660 * MIB
    assert before.pool_bytes == after.pool_bytes == 1024 * MIB
    assert sources(after)["pool_bytes"] == sources(after)["weights_bytes"] == "measured"
    assert spread(after) == 250 * MIB < spread(before)


def test_where_card_and_host_share_one_memory_the_hosts_buffers_count_too() -> None:
    one = small()

    after = budget_on(knowing(one, booted(one, LLAMA, HALO)), HALO)

    assert after.weights_bytes == 7660 * MIB + round(532.31 * MIB)


def test_before_0_21_graphs_come_on_top_of_the_share() -> None:
    one = large()

    old = budget_on(knowing(one, booted(one, VLLM_010)), L4)

    assert spread(old) == round(0.52 * GIB)
    assert values(old)["engine_version"] == "0.10.0"


@pytest.mark.parametrize(
    ("log", "one", "other"),
    [
        (VLLM_033, large(), large("--max-model-len", "4096")),
        (VLLM_033, large(), large("--max-model-len", "8192", "--kv-cache-dtype", "fp8")),
        (LLAMA, small(), small("-c", "16384", "-np", "2")),
        (LLAMA, small(), small("-c", "4096", "-np", "2")),
        (LLAMA, small(), small("-c", "8192", "-np", "2", "-ctk", "q8_0", "-ctv", "q8_0")),
    ],
)
def test_one_like_it_has_a_narrower_band_with_the_measurement_inside(
    log: str, one: Tenant, other: Tenant
) -> None:
    record = booted(one, log)
    before, exact = budget_on(other, L4), budget_on(knowing(one, record), L4)

    after = budget_on(knowing(other, record), L4)

    assert spread(after) < spread(before)
    assert sources(after)["overhead_high_bytes"] == "assumed"
    assert sources(after)["weights_bytes"] == "measured"
    assert after.weights_bytes == exact.weights_bytes
    assert after.overhead_low_bytes is not None and exact.overhead_low_bytes is not None
    if "context" not in values(after) or values(after)["context"] == values(exact)["context"]:
        assert after.overhead_low_bytes <= exact.overhead_low_bytes
    assert "narrowed by what was measured" in next(
        x.text for x in after.why if x.name == "measured"
    )


@pytest.mark.parametrize(
    ("log", "one", "other"),
    [
        (VLLM_033, large(), large("--max-model-len", "8192", "--max-num-batched-tokens", "4096")),
        (VLLM_033, large(), large("--max-model-len", "8192", "--max-num-seqs", "8")),
        (VLLM_033, large(), large("--max-model-len", "8192", "--frobnicate", "1")),
        (LLAMA, small(), small("-c", "8192", "-np", "4")),
        (LLAMA, small(), small("-c", "8192", "-np", "2", "-ub", "128")),
        (LLAMA, small("-c", "8192", "-np", "2", "-ngl", "9"),
         small("-c", "8192", "-np", "2", "-ngl", "8")),
    ],
)  # fmt: skip
def test_where_activations_or_weights_hang_on_what_differs_nothing_is_made_of_it(
    log: str, one: Tenant, other: Tenant
) -> None:
    assert budget_on(knowing(other, booted(one, log)), L4) == budget_on(other, L4)


def test_another_card_and_another_version_learn_nothing() -> None:
    one = large()
    known, asked = knowing(one, booted(one, VLLM_033)), Wanted({"engine_version": "0.19.1"})

    assert budget_on(known, OTHER) == budget_on(one, OTHER)
    assert budget_on(known, L4, (), asked) == budget_on(one, L4, (), asked)


def test_the_newest_boot_of_the_same_counts() -> None:
    one = large()
    old = booted(one, VLLM_06)
    new = booted(one, VLLM_033, at="2026-12-01T00:00:00.000000Z")

    after = budget_on(knowing(one, new, old), L4)

    assert values(after)["engine_version"] == "0.33.0"
    assert "2026-12-01 00:00 UTC" in next(x.text for x in after.why if x.name == "measured")


def test_what_was_measured_answers_what_a_flag_left_open() -> None:
    one = small("-c", "8192", "-np", "2", "--lora", "x")
    before = budget_on(one, L4)

    after = budget_on(knowing(one, booted(one, LLAMA)), L4)

    assert (before.verdict, before.binds) == ("tight", "args")
    assert (after.verdict, after.binds) == ("fits", None)


def test_a_context_that_the_engine_cut_is_a_no_for_the_next_plan() -> None:
    one = small("-c", "32768", "-np", "2")
    cut = knowing(one, booted(one, LLAMA))

    after = budget_on(cut, L4)

    assert (budget_on(one, L4).verdict, after.verdict, after.binds) == ("fits", "no", "context")
    said = next(line.text for line in after.why if line.name == "refused")
    assert "4,096 tokens a request where 16,384 are declared" in said


def test_a_record_that_somebody_bent_is_refused_before_a_plan_reckons_with_it() -> None:
    record = booted(small(), LLAMA)

    for name, value in (("context", "many"), ("utilisation", "nan"), ("context", "9" * 60)):
        with pytest.raises(ValueError, match="validation error"):
            type(record).model_validate(
                {**record.model_dump(), "shape": {**record.shape, name: value}}
            )


def test_the_value_of_a_flag_that_nobody_knows_is_not_written_down() -> None:
    one = replace(small("-c", "8192", "-np", "2", "--secretive", "hunter2"))

    record = booted(one, LLAMA)

    assert "hunter2" not in record.model_dump_json()
    assert record.shape["others"] != booted(small(), LLAMA).shape.get("others")


def test_a_variable_that_nobody_knows_makes_another_plan_and_a_louder_log_does_not() -> None:
    argv = ["-c", "8192", "-np", "2"]

    def asked(**env: str) -> Tenant:
        return replace(small(*argv), asked=asked_of(SERVING["llama-server"], argv, env))

    plain, loud = small(*argv), asked(LLAMA_ARG_LOG_VERBOSITY="4")
    strange = [asked(LLAMA_ARG_STRANGE=value) for value in ("1", "2")]

    shapes = [booted(one, LLAMA).shape for one in (plain, loud, *strange)]

    assert shapes[0] == shapes[1]
    assert len({str(shape) for shape in shapes}) == 3
