"""Fits, tight, no and unknown, and which condition binds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meshctl.budget.budget import Budget
from meshctl.budget.read import budget_of_text
from meshctl.budget.verdict import ENOUGH, NOT_ENOUGH, enough

GIB = 2**30
LLAMA_8B = {
    "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "hidden_size": 4096, "vocab_size": 128_256,
    "max_position_embeddings": 131_072,
}  # fmt: skip
CARD = {"device_bytes": round(31.86 * GIB)}


def planned(**geometry: Any) -> Budget:
    whole = {"engine": "llama.cpp", "config": LLAMA_8B, "context": 8192, "sequences": 1, **geometry}
    return budget_of_text(json.dumps(whole), "g.json")


def on_a_card_with(free_bytes: int) -> Budget:
    """Weights so large that as much is left of the home fleet's card with the most overhead."""
    free = planned(**CARD, weights_bytes=0).margin_bytes
    assert free is not None
    return planned(**CARD, weights_bytes=free - free_bytes)


def spread() -> int:
    budget = planned(**CARD, weights_bytes=0)
    return (budget.overhead_high_bytes or 0) - (budget.overhead_low_bytes or 0)


def test_two_gib_that_stay_free_fit_and_a_byte_less_is_tight() -> None:
    assert (on_a_card_with(ENOUGH).verdict, on_a_card_with(ENOUGH).binds) == ("fits", None)
    assert (on_a_card_with(ENOUGH - 1).verdict, on_a_card_with(ENOUGH - 1).binds) == (
        "tight",
        "device_bytes",
    )


def test_the_night_that_left_0_13_gib_is_a_no_even_with_the_least_overhead() -> None:
    budget = on_a_card_with(round(0.13 * GIB) - spread())

    assert (budget.verdict, budget.binds) == ("no", "device_bytes")
    assert on_a_card_with(NOT_ENOUGH + 1 - spread()).verdict == "tight"


def test_a_small_card_needs_no_more_free_than_the_engine_leaves_of_it() -> None:
    assert enough(8 * GIB) == int(8 * GIB * 0.08) < ENOUGH
    assert enough(80 * GIB) == ENOUGH


def test_nothing_is_said_of_a_device_that_was_not_told() -> None:
    budget = planned()

    assert (budget.verdict, budget.binds) == ("unknown", "device_bytes")
    assert budget.pool_bytes == GIB
    assert (budget.margin_bytes, budget.usable_bytes) == (None, None)


@pytest.mark.parametrize("model_type", ["deepseek_v4", "a_thing_of_tomorrow"])
def test_an_unknown_family_is_unknown_and_never_guessed(model_type: str) -> None:
    budget = planned(config={**LLAMA_8B, "model_type": model_type}, **CARD, weights_bytes=GIB)

    assert (budget.verdict, budget.binds) == ("unknown", "model")
    assert (budget.kv_bytes_per_token, budget.pool_bytes, budget.kv_caches) == (None, None, None)


@pytest.mark.parametrize(
    "keys",
    [
        {"compress_ratios": [4, 128]},
        {"layer_types": ["full_attention", "chunked_attention"] * 16},
        {"layer_types": ["full_attention", "linear_attention"] * 16},
    ],
)
def test_layers_without_a_rule_make_a_known_name_unknown(keys: dict[str, Any]) -> None:
    assert planned(config=LLAMA_8B | keys).binds == "model"


@pytest.mark.parametrize(
    ("changes", "binds"),
    [
        ({"engine": "vllm", "tp": 3}, "tp"),
        ({"engine": "vllm", "kv_dtype": "q8_0"}, "kv_dtype"),
        ({"engine": "vllm", "kv_dtype_k": "fp8", "kv_dtype_v": "bf16"}, "kv_dtype"),
        ({"kv_dtype": "fp8"}, "kv_dtype"),
        ({"kv_dtype": "q8_0", "flash_attn": False}, "flash_attn"),
        ({"sequences": 300}, "sequences"),
    ],
)
def test_what_the_engine_does_not_start_with_is_a_no(changes: dict[str, Any], binds: str) -> None:
    budget = planned(**changes, **CARD)

    assert (budget.verdict, budget.binds) == ("no", binds)


def vllm(**changes: Any) -> Budget:
    known: dict[str, Any] = {"engine": "vllm", "sequences": None, "weights_bytes": 15 * GIB}
    return planned(**{**known, "device_bytes": 80 * GIB, **changes})


def test_a_pool_that_holds_no_request_even_with_the_least_overhead_is_a_no() -> None:
    assert vllm(device_bytes=18 * GIB, context=131_072).binds == "context"
    assert vllm(device_bytes=18 * GIB, context=131_072).verdict == "no"


def test_a_pool_that_holds_one_only_with_little_overhead_is_tight() -> None:
    budget = vllm(device_bytes=20 * GIB, context=8192)

    assert (budget.verdict, budget.binds) == ("tight", "context")


def test_sequences_that_must_wait_are_tight_only_when_somebody_asked_for_them() -> None:
    assert vllm(context=131_072).verdict == "fits"
    assert vllm(context=131_072, sequences=8).binds == "max_concurrency"
    assert vllm(context=131_072, sequences=2).verdict == "fits"


def test_the_same_flags_of_two_versions_are_two_plans() -> None:
    old, new = vllm(engine_version="0.19.1"), vllm(engine_version="0.33.0")
    share = {line.name: line.value for line in old.why}["utilisation"]

    assert share == 0.9
    assert (old.pool_bytes or 0) < (new.pool_bytes or 0)


def test_where_share_weights_and_pool_are_known_the_overhead_is_measured() -> None:
    budget = vllm(utilisation=0.9, available_kv_bytes=50 * GIB)

    assert budget.overhead_low_bytes == budget.overhead_high_bytes == 7 * GIB
    assert {line.source for line in budget.why if line.name == "overhead_low_bytes"} == {"measured"}


def test_every_default_that_was_taken_is_named_with_its_source() -> None:
    told = {line.name: line.source for line in vllm().why}

    assert {name for name, source in told.items() if source == "default"} >= {
        "tp", "sequences", "batched_tokens", "spec_tokens", "kv_dtype", "block_size", "utilisation",
    }  # fmt: skip
    assert told["engine_version"] == told["overhead_high_bytes"] == "assumed"
    assert told["context"] == told["weights_bytes"] == "config"


def test_a_number_is_as_weak_as_the_weakest_it_was_made_of() -> None:
    told = {line.name: line.source for line in vllm().why}

    assert told["num_blocks"] == "assumed", "the overhead is"
    measured = {line.name: line.source for line in vllm(available_kv_bytes=GIB, block_size=16,
                                                        tp=1, kv_dtype="bf16").why}  # fmt: skip
    assert measured["num_blocks"] == "config"


def test_a_setting_of_the_other_engine_is_said_to_mean_nothing() -> None:
    texts = {line.name: line.text for line in vllm(ubatch=512).why}

    assert texts["ubatch"] == "not a setting of vllm: nothing hangs on it"


OBSERVED_GIB = {
    "dense": (0.5, 1.0, 1.7, 2.4, 3.3, 2.3),
    "with experts or eyes": (0.4, 4.5, 7.1, 7.3, 9.3, 7.4),
}
"""Device's share less weights and pool, of public logs."""


@pytest.mark.parametrize("kind", OBSERVED_GIB)
def test_the_band_of_vllm_contains_what_was_observed(kind: str) -> None:
    heavy = {} if kind == "dense" else {"num_experts": 128, "vision_config": {"depth": 1}}
    budget = vllm(config=LLAMA_8B | heavy)

    low, high = (budget.overhead_low_bytes or 0), (budget.overhead_high_bytes or 0)
    assert [gib for gib in OBSERVED_GIB[kind] if not low <= round(gib * GIB) <= high] == []


def test_a_config_for_several_senses_is_read_where_its_language_model_stands() -> None:
    nested = {"model_type": "qwen3_vl", "vision_config": {"depth": 1}, "text_config": LLAMA_8B}

    assert vllm(config=nested).kv_bytes_per_token == vllm().kv_bytes_per_token == 131_072.0


def test_a_window_that_is_written_and_unused_does_not_count() -> None:
    written = LLAMA_8B | {"model_type": "qwen2", "sliding_window": 1024}

    unused = vllm(config=written | {"use_sliding_window": False})
    used = vllm(config=written | {"use_sliding_window": True})

    assert unused.kv_bytes_per_token == 131_072.0
    assert used.kv_bytes_per_token == 0.0, "beyond the window nothing grows"


def test_layers_that_share_a_cache_own_none() -> None:
    gemma = {
        "model_type": "gemma3n_text", "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "sliding_window": 512,
    }  # fmt: skip

    all_own, some_share = (
        planned(config=gemma),
        planned(config=gemma | {"num_kv_shared_layers": 15}),
    )

    assert [cache.layers for cache in all_own.kv_caches or ()] == [7, 28]
    assert [cache.layers for cache in some_share.kv_caches or ()] == [4, 16]


def test_a_pool_that_was_pinned_is_as_large_as_it_was_pinned_whatever_is_left() -> None:
    """The home fleet's 6.1e9 bytes for each card."""
    pinned = vllm(kv_memory_bytes=6_100_000_000, block_size=16, utilisation=0.98)
    left = vllm(block_size=16, utilisation=0.98)

    assert pinned.num_blocks == 6_100_000_000 // (16 * 131_072)
    assert (left.num_blocks or 0) > (pinned.num_blocks or 0)
    sources = {line.name: line.source for line in pinned.why}
    assert (sources["kv_memory_bytes"], sources["overhead_high_bytes"]) == ("config", "assumed")


def test_a_pinned_pool_must_still_go_beside_the_weights() -> None:
    assert vllm(device_bytes=24 * GIB, context=8192, kv_memory_bytes=8 * GIB).verdict == "tight"
    assert vllm(device_bytes=22 * GIB, context=8192, kv_memory_bytes=8 * GIB).binds == (
        "device_bytes"
    )


def test_what_others_take_of_a_device_is_not_there() -> None:
    alone = planned(**CARD, weights_bytes=8 * GIB)
    shared = planned(**CARD, weights_bytes=8 * GIB, reserved_bytes=GIB)

    assert (alone.margin_bytes or 0) - (shared.margin_bytes or 0) == GIB
    assert shared.others_bytes == GIB


def test_an_exaone_of_another_size_than_32b_has_no_windows_in_llama_cpp() -> None:
    """As the real engine lays it out; see tests/contract/budget."""
    keys = {
        "general.architecture": "exaone4", "exaone4.embedding_length": 128,
        "exaone4.attention.head_count": 4, "exaone4.attention.head_count_kv": 2,
        "exaone4.attention.sliding_window": 512,
    }  # fmt: skip

    def caches(layers: int) -> list[tuple[str, int]]:
        whole = {"engine": "llama.cpp", "context": 8192, "sequences": 1,
                 "gguf": keys | {"exaone4.block_count": layers}}  # fmt: skip
        found = budget_of_text(json.dumps(whole), "g.json").kv_caches or ()
        return [(cache.name, cache.layers) for cache in found]

    assert caches(30) == [("full", 30)]
    assert caches(64) == [("full", 16), ("sliding", 48)]
