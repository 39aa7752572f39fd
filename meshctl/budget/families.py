"""The model types and architectures whose caches are known, by how their layers are laid out. Pure.

Names of config.json's `model_type` and of GGUF's `general.architecture`. A name that is in no set
is an unknown family. Without any name the keys themselves must say it all.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN_TYPES = _names("""
    llama mistral mixtral ministral ministral3 mistral3 pixtral qwen qwen2 qwen2_moe qwen2_vl
    qwen2_5_vl qwen2_vl_text qwen2_5_vl_text qwen3 qwen3_moe qwen3_vl qwen3_vl_text qwen3_vl_moe
    qwen3_vl_moe_text phi phi3 phimoe gemma starcoder2 stablelm olmo olmo2 olmoe granite granitemoe
    granitemoeshared glm glm4 glm4_moe glm4v_text internlm2 internlm3 baichuan cohere falcon
    gpt2 gpt_neox gpt_bigcode mpt opt bloom ernie4_5 ernie4_5_moe exaone nemotron hunyuan_v1_dense
    hunyuan_v1_moe seed_oss smollm3 arcee deepseek bailing_moe dots1 minimax_m2 apertus xverse
    orion aquila jais llava llava_next internvl_chat smollm
""")
"""Every layer the same attention, unless the keys name a window."""
WINDOW_PERIODS = {
    "gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2, "cohere2": 4, "exaone4": 4,
    "gemma3n": 5, "gemma3n_text": 5, "gemma4": 6, "gemma4_text": 6, "olmo3": 4,
}  # fmt: skip
"""Of so many layers the last is full and the others have a window, where no list says it."""
OPTIONAL_WINDOW_TYPES = _names("""
    qwen2 qwen2_moe qwen3 qwen3_moe qwen2_vl qwen2_5_vl qwen2_vl_text qwen2_5_vl_text
""")
"""They carry `sliding_window` and use it only when `use_sliding_window` says so."""
MLA_TYPES = _names("""
    deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 glm_moe_dsa glm4_moe_lite deepseek_vl_v2
""")
GDN_TYPES = _names("qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text")
MAMBA_TYPES = _names("bamba granitemoehybrid nemotron_h zamba2 falcon_h1 jamba")
OTHER_TYPES = _names("kimi_linear lfm2 lfm2_moe")
TYPES = PLAIN_TYPES | set(WINDOW_PERIODS) | MLA_TYPES | GDN_TYPES | MAMBA_TYPES | OTHER_TYPES
STRANGE_KEYS = (
    "compress_ratios", "compress_rates", "attention_chunk_size", "cross_attention_layers",
)  # fmt: skip
"""config.json keys of caches that no rule here covers."""

PLAIN_ARCHS = _names("""
    llama qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe phi2 phi3 phimoe gemma
    starcoder starcoder2 stablelm olmo olmoe granite granitemoe chatglm glm4 glm4moe internlm2
    baichuan command-r falcon gpt2 gptneox mpt bloom orion xverse minicpm exaone nemotron
    hunyuan-dense hunyuan-moe seed_oss smollm3 arcee ernie4_5 ernie4_5-moe dots1 bailingmoe
    bailingmoe2 minimax-m2 apertus mistral3 deepseek dbrx grok jais refact codeshell plamo
""")
ARCH_PERIODS = {
    "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "exaone4": 4, "olmo2": 4,
    "gemma4": 6,
}  # fmt: skip
MLA_ARCHS = _names("deepseek2 deepseek32 glm-dsa")
GDN_ARCHS = _names("qwen3next qwen35 qwen35moe")
MIXED_ARCHS = _names("jamba granitehybrid nemotron_h nemotron_h_moe lfm2 lfm2moe kimi-linear")
"""A layer without key heads is recurrent (of Nemotron-H only where it has no feed-forward)."""
PURE_ARCHS = _names("mamba mamba2")
PARALLEL_ARCHS = _names("falcon-h1")
"""Every layer is attention and recurrent at once."""
ARCHS = (
    PLAIN_ARCHS | set(ARCH_PERIODS) | MLA_ARCHS | GDN_ARCHS | MIXED_ARCHS | PURE_ARCHS
    | PARALLEL_ARCHS
)  # fmt: skip
