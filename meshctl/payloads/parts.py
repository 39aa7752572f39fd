"""Says what the weights of a model are for: experts, attention, embeddings and the like. Pure.

What is read for each token decides how fast a model can be, and what is not how much of it may lie
in slower memory: of experts only a few are read, of a lookup table one row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from meshctl.payloads.header import Tensor

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (part, re.compile(pattern))
    for part, pattern in (
        ("lookup", r"per_layer_token_embd|embed_tokens_per_layer"),
        ("shared experts", r"_shexp\b|shared_experts?\b"),
        ("experts", r"_exps\b|\.experts\."),
        ("embeddings", r"^(token|position|token_types)_embd\b|^output\.|embed_tokens|"
                       r"\blm_head\b|\b(wte|wpe|word_embeddings|embed_in|embed_out)\b"),
        ("attention", r"\.attn_|self_attn|\.attn\.|\.attention\.|\bself_attention\b"),
        ("recurrent", r"\.ssm_|\.shortconv|linear_attn|\.mamba\.|\.mixer\.|\.conv\."),
        ("feed-forward", r"\.ffn_(up|gate|down)\.|\.mlp\.|\.feed_forward\."),
    )
)  # fmt: skip
"""The first that fits, from the most particular on; names of GGUF, then of transformers."""
OTHER = "other"


@dataclass(frozen=True)
class Share:
    """The tensors of one part; `bytes` is None where the type of one is unknown."""

    count: int
    elements: int
    bytes: int | None


def part_of_model(name: str) -> str:
    """What a tensor of this name is for; *other* where its name does not say: norms, routers, and
    what we have never seen."""
    return next((part for part, rule in _RULES if rule.search(name)), OTHER)


def by_part(tensors: Iterable[Tensor]) -> dict[str, Share]:
    """Each part that there is, the most elements first."""
    found: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        found.setdefault(part_of_model(tensor.name), []).append(tensor)
    shares = {part: _share(of) for part, of in found.items()}
    return dict(sorted(shares.items(), key=lambda row: (-row[1].elements, row[0])))


def _share(tensors: list[Tensor]) -> Share:
    sizes = [tensor.bytes for tensor in tensors if tensor.bytes is not None]
    whole = sum(sizes) if len(sizes) == len(tensors) else None
    return Share(len(tensors), sum(tensor.elements for tensor in tensors), whole)
