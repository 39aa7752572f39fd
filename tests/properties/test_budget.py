"""The planner, whatever it is asked: more never needs less, and equal questions equal answers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meshctl.budget.budget import Budget
from meshctl.budget.read import budget_of_text
from meshctl.errors import SpecError

GIB = 2**30
HYBRID = {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
          "linear_value_head_dim": 128, "full_attention_interval": 4}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "windows": {"model_type": "gemma3_text", "sliding_window": 1024},
    "latent": {"model_type": "deepseek_v3", "kv_lora_rank": 512, "qk_rope_head_dim": 64},
    "hybrid": {"model_type": "qwen3_5_text", **HYBRID},
}


@st.composite
def geometries(draw: st.DrawFn) -> dict[str, Any]:
    """A model of some family on some card."""
    heads = draw(st.sampled_from([2, 4, 8]))
    config = {
        "num_hidden_layers": draw(st.integers(4, 64)),
        "num_attention_heads": 32,
        "num_key_value_heads": heads,
        "head_dim": draw(st.sampled_from([64, 128, 256])),
        "hidden_size": 4096,
        "vocab_size": 152_064,
        **KINDS[draw(st.sampled_from(sorted(KINDS)))],
    }
    return {
        "engine": draw(st.sampled_from(["vllm", "llama.cpp"])),
        "config": config,
        "context": draw(st.integers(1, 300_000)),
        "sequences": draw(st.integers(1, 64)),
        "kv_dtype": draw(st.sampled_from(["f16", "bf16"])),
        "device_bytes": draw(st.integers(8, 192)) * GIB,
        "weights_bytes": draw(st.integers(1, 96)) * GIB,
    }


def planned(geometry: dict[str, Any], **changes: Any) -> Budget:
    return budget_of_text(json.dumps({**geometry, **changes}), "g.json")


def lines(budget: Budget) -> dict[str, Any]:
    return {line.name: line.value for line in budget.why}


def need(geometry: dict[str, Any], **changes: Any) -> int:
    """What one request of vLLM, or all slots of llama.cpp, must have."""
    budget = planned(geometry, **changes)
    if geometry["engine"] == "vllm":
        return int(lines(budget)["request_blocks"]) * (budget.bytes_per_block or 0)
    return (budget.pool_bytes or 0) + (budget.state_bytes or 0)


@settings(max_examples=100, deadline=None)
@given(geometries(), st.integers(1, 100_000))
def test_more_context_never_needs_less(geometry: dict[str, Any], more: int) -> None:
    less = need(geometry)

    assert need(geometry, context=geometry["context"] + more) >= less


@settings(max_examples=100, deadline=None)
@given(geometries(), st.integers(1, 64))
def test_more_slots_of_one_length_never_need_less(geometry: dict[str, Any], more: int) -> None:
    """The context of llama.cpp is that of all slots together, so it grows with them."""
    each, slots = geometry["context"], geometry["sequences"]
    shared = geometry["engine"] == "llama.cpp"

    less = need(geometry, context=each * slots if shared else each)
    larger = {"sequences": slots + more, "context": each * (slots + more) if shared else each}

    assert need(geometry, **larger) >= less


@settings(max_examples=100, deadline=None)
@given(geometries(), st.sampled_from([2, 4, 8]))
def test_more_devices_never_raise_what_one_of_them_holds(geometry: dict[str, Any], tp: int) -> None:
    alone, shared = planned(geometry), planned(geometry, tp=tp)
    assume(shared.binds != "tp")

    assert (shared.weights_bytes or 0) <= (alone.weights_bytes or 0)
    assert (shared.kv_bytes_per_token or 0) <= (alone.kv_bytes_per_token or 0)
    assert (shared.state_bytes_per_sequence or 0) <= (alone.state_bytes_per_sequence or 0)


@settings(max_examples=50, deadline=None)
@given(geometries())
def test_equal_questions_have_equal_answers(geometry: dict[str, Any]) -> None:
    assert planned(geometry) == planned(json.loads(json.dumps(geometry)))


@settings(max_examples=100, deadline=None)
@given(geometries(), st.integers(1, 64))
def test_a_larger_card_never_makes_it_worse(geometry: dict[str, Any], more: int) -> None:
    order = ["no", "tight", "fits"]
    large = planned(geometry, utilisation=0.9, device_bytes=geometry["device_bytes"] + more * GIB,
                    batched_tokens=2048)  # fmt: skip
    small = planned(geometry, utilisation=0.9, batched_tokens=2048)

    assert order.index(large.verdict) >= order.index(small.verdict)


@settings(max_examples=100, deadline=None)
@given(geometries())
def test_a_band_holds_from_low_to_high(geometry: dict[str, Any]) -> None:
    budget = planned(geometry)

    assert 0 < (budget.overhead_low_bytes or 0) <= (budget.overhead_high_bytes or 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner,
                                                                max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "model_type",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "hidden_size",
        "kv_lora_rank",
        "layer_types",
        "sliding_window",
        "linear_num_value_heads",
        "linear_attn_config",
        "conv_L_cache",
        "mamba_n_heads",
        "attn_layer_indices",
        "hybrid_override_pattern",
        "indexer_types",
        "text_config",
        "global_head_dim",
        "num_kv_shared_layers",
        "use_sliding_window",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(NAMES, VALUES), st.sampled_from(["vllm", "llama.cpp"]))
def test_any_keys_are_answered_or_refused_with_a_place(keys: dict[str, Any], engine: str) -> None:
    sound = {"num_hidden_layers": 8, "num_attention_heads": 8, "hidden_size": 512}
    geometry = {"engine": engine, "config": sound | keys, "context": 4096}

    try:
        budget = planned(geometry)
    except SpecError as wrong:
        assert all(problem.place.startswith("g.json:") for problem in wrong.problems)
    else:
        assert budget.verdict in ("no", "unknown"), "no device was told"


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "general.architecture",
                "qwen35.block_count",
                "qwen35.attention.head_count",
                "qwen35.attention.head_count_kv",
                "qwen35.embedding_length",
                "qwen35.ssm.conv_kernel",
                "qwen35.ssm.inner_size",
                "qwen35.ssm.state_size",
                "qwen35.attention.key_length",
                "qwen35.full_attention_interval",
                "qwen35.nextn_predict_layers",
            ]
        ),
        VALUES | st.integers(0, 64) | st.just("qwen35"),
    ),
    st.sampled_from(["vllm", "llama.cpp"]),
)
def test_any_metadata_is_answered_or_refused(keys: dict[str, Any], engine: str) -> None:
    sound = {"general.architecture": "qwen35", "qwen35.block_count": 8,
             "qwen35.embedding_length": 512, "qwen35.attention.head_count": 8}  # fmt: skip
    geometry = {"engine": engine, "gguf": sound | keys, "context": 4096}

    try:
        budget = planned(geometry)
    except SpecError as wrong:
        assert wrong.problems
    else:
        assert budget.verdict in ("no", "unknown"), "no device was told"
