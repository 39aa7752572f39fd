"""What weights are for is told by their names, as engines and transformers write them."""

from __future__ import annotations

import pytest

from meshctl.payloads.header import Tensor
from meshctl.payloads.parts import OTHER, Share, by_part, part_of_model

NAMES = {
    "blk.0.ffn_up_exps.weight": "experts",
    "blk.0.ffn_gate_up_exps.weight": "experts",
    "model.layers.3.mlp.experts.17.down_proj.weight": "experts",
    "model.layers.3.mlp.experts.gate_up_proj_blocks": "experts",
    "model.layers.3.block_sparse_moe.experts.1.w1.weight": "experts",
    "blk.0.ffn_up_shexp.weight": "shared experts",
    "model.layers.3.mlp.shared_experts.up_proj.weight": "shared experts",
    "model.layers.3.mlp.shared_expert.up_proj.weight": "shared experts",
    "token_embd.weight": "embeddings",
    "output.weight": "embeddings",
    "model.embed_tokens.weight": "embeddings",
    "lm_head.weight": "embeddings",
    "transformer.wte.weight": "embeddings",
    "per_layer_token_embd.weight": "lookup",
    "model.language_model.embed_tokens_per_layer.weight": "lookup",
    "blk.7.attn_q.weight": "attention",
    "blk.7.attn_output.weight": "attention",
    "model.layers.0.self_attn.q_proj.weight": "attention",
    "h.0.attn.c_attn.weight": "attention",
    "blk.7.ssm_in.weight": "recurrent",
    "model.layers.0.linear_attn.in_proj_qkvz.weight": "recurrent",
    "backbone.layers.0.mixer.in_proj.weight": "recurrent",
    "blk.7.ffn_down.weight": "feed-forward",
    "model.layers.0.mlp.down_proj.weight": "feed-forward",
    "blk.7.ffn_gate_inp.weight": OTHER,
    "blk.7.ffn_norm.weight": OTHER,
    "output_norm.weight": OTHER,
    "model.norm.weight": OTHER,
    "something.nobody.knows": OTHER,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_what_a_weight_is_for(name: str) -> None:
    assert part_of_model(name) == NAMES[name]


def test_every_tensor_is_counted_in_one_part_the_largest_first() -> None:
    tensors = (
        Tensor("blk.0.attn_q.weight", "F16", (4, 4), 32),
        Tensor("blk.0.ffn_up_exps.weight", "F16", (4, 4, 8), 256),
        Tensor("blk.0.ffn_down_exps.weight", "F16", (4, 4, 8), 256),
    )

    found = by_part(tensors)

    assert list(found.items()) == [("experts", Share(2, 256, 512)), ("attention", Share(1, 16, 32))]


def test_a_size_that_one_tensor_does_not_tell_is_unknown_for_its_part_alone() -> None:
    tensors = (
        Tensor("blk.0.attn_q.weight", "F16", (4, 4), 32),
        Tensor("blk.0.ffn_up_exps.weight", "type 99", (4, 4), None),
    )

    found = by_part(tensors)

    assert (found["experts"].bytes, found["attention"].bytes) == (None, 32)
