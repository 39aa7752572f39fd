"""Weights of models that a test puts on cards, as their headers would say it."""

from __future__ import annotations

from typing import Any

from meshctl.budget.card import Card
from meshctl.budget.flags import SERVING, asked_of
from meshctl.budget.tenants import Tenant
from meshctl.budget.weights import Weights

GIB = 2**30
KEYS_8B = {
    "general.architecture": "llama", "llama.block_count": "32", "llama.embedding_length": "4096",
    "llama.attention.head_count": "32", "llama.attention.head_count_kv": "8",
    "llama.vocab_size": "128256", "llama.context_length": "131072",
}  # fmt: skip
"""128 KiB a token in f16."""
KEYS_27B = {
    "general.architecture": "qwen35", "qwen35.block_count": "64",
    "qwen35.embedding_length": "5120", "qwen35.attention.head_count": "24",
    "qwen35.attention.head_count_kv": "4", "qwen35.attention.key_length": "256",
    "qwen35.attention.value_length": "256", "qwen35.ssm.conv_kernel": "4",
    "qwen35.ssm.inner_size": "6144", "qwen35.ssm.state_size": "128",
    "qwen35.ssm.time_step_rank": "48", "qwen35.ssm.group_count": "16",
    "qwen35.vocab_size": "248320", "qwen35.context_length": "262144",
}  # fmt: skip
"""The home fleet's: 16 layers of 4 heads of 256 keep 64 KiB a token in f16."""
CONFIG_8B: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": "32", "num_attention_heads": "32",
    "num_key_value_heads": "8", "hidden_size": "4096", "vocab_size": "128256",
    "max_position_embeddings": "131072",
}  # fmt: skip
L4 = Card("L4", 1, round(22.04 * GIB), "measured", "engines' logs")
HALO = Card("Strix-Halo", 1, 114 * GIB, "config", "`gpus:`", unified=True, shared=True)


def gguf(gib: float, keys: dict[str, str] = KEYS_8B) -> Weights:
    return Weights("gguf", keys, round(gib * GIB))


def safetensors(gib: float) -> Weights:
    return Weights("safetensors", CONFIG_8B, round(gib * GIB))


def tenant(weights: Weights | None, *argv: str, name: str = "m", **more: Any) -> Tenant:
    """A model of llama-server, or of vLLM where its files are safetensors."""
    is_vllm = weights is not None and weights.format == "safetensors"
    engine = more.pop("engine", "vllm" if is_vllm else "llama-server")
    asked = asked_of(SERVING[engine], argv, {}) if engine in SERVING else more.pop("asked", None)
    found = {} if asked is None else {"asked": asked}
    return Tenant(name, engine, weights=weights, **found, **more)
