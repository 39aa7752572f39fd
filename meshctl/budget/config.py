"""Reads config.json keys into a Model, or says that the family is unknown. Pure."""

from __future__ import annotations

from meshctl.budget.families import (
    OPTIONAL_WINDOW_TYPES,
    STRANGE_KEYS,
    TYPES,
    WINDOW_PERIODS,
)
from meshctl.budget.keys import MOST_LAYERS, Keys
from meshctl.budget.model import Attention, Model, Part, Unknown
from meshctl.budget.recurrences import Linear, linear_layers

INSIDE = ("text_config", "llm_config", "language_config")
"""A multimodal model keeps its language model's keys under one of these."""
_KINDS = {
    "full_attention": "full", "attention": "full", "sliding_attention": "window",
    "sliding_window_attention": "window", "linear_attention": "linear", "mamba": "linear",
    "conv": "linear",
}  # fmt: skip
_DTYPES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "half": "f16", "float": "f32",
    "f32": "f32", "f16": "f16", "bf16": "bf16",
}  # fmt: skip


def model_of_config(outer: Keys) -> Model | Unknown:
    """The model that these keys describe. Raises BadKey where one is missing or wrong."""
    keys = outer.under(*INSIDE)
    family = keys.text("model_type") or outer.text("model_type")
    if family and family not in TYPES:
        return Unknown(family, f"no rule for model_type {family!r}")
    strange = next((key for key in STRANGE_KEYS if keys.has(key)), None)
    if strange:
        return Unknown(family or "unnamed", f"{strange} makes a cache that no rule covers")
    count = keys.need("num_hidden_layers", "n_layer", "num_layers", most=MOST_LAYERS)
    linear = linear_layers(keys, family, count)
    kinds = _kinds(keys, family, count, linear)
    if isinstance(kinds, Unknown):
        return kinds
    if linear is None and {"linear", "both"} & set(kinds):
        return Unknown(family or "unnamed", "no key tells how large its recurrent layers are")
    return _model(keys, outer, family, kinds, linear)


def _model(
    keys: Keys, outer: Keys, family: str | None, kinds: tuple[str, ...], linear: Linear | None
) -> Model:
    owners = len(kinds) - (keys.number("num_kv_shared_layers", most=len(kinds)) or 0)
    picks = keys.words("indexer_types", len(kinds)) or ("full",) * len(kinds)
    parts: list[Part] = []
    for index, kind in enumerate(kinds[:owners]):
        if kind in ("full", "window", "both"):
            parts.append(_attention(keys, picks[index] == "full", kind == "window", family))
        if kind in ("linear", "both"):
            assert linear is not None, "only such models have these layers"
            parts.append(linear.part)
    dtype = _DTYPES.get(_dtype(keys) or _dtype(outer) or "", "bf16")
    attention = [part for part in parts if isinstance(part, Attention)]
    like = next((part for part in attention if part.window is None), None)
    return Model(
        family=family or "by its keys",
        parts=tuple(parts),
        heads=_heads(keys),
        source="config",
        drafts=(like,) * _drafts(keys) if like else (),
        vocab=keys.number("vocab_size"),
        context=keys.number("max_position_embeddings", "n_positions", "seq_length", least=1),
        dtype=dtype,
        ssm_dtype=_ssm_dtype(keys, linear, dtype),
        heavy=_is_heavy(keys, outer),
        notes=_notes(family, owners, kinds),
    )


def _notes(family: str | None, owners: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    shared = len(kinds) - owners
    named = () if family else ("no model_type: every layer is what the keys say",)
    return named + ((f"the last {shared} layers use the cache of earlier ones",) if shared else ())


def _is_heavy(keys: Keys, outer: Keys) -> bool:
    experts = keys.number("num_experts", "n_routed_experts", "num_local_experts")
    return bool(experts) or outer.has("vision_config") or outer.has("audio_config")


def _drafts(keys: Keys) -> int:
    """Layers that predict further tokens; 1 is assumed where the config names none."""
    named = keys.number("mtp_num_hidden_layers", "num_nextn_predict_layers", most=64)
    return named or 1


def _dtype(keys: Keys) -> str | None:
    return keys.text("dtype") or keys.text("torch_dtype")


def _ssm_dtype(keys: Keys, linear: Linear | None, dtype: str) -> str:
    """What the state is kept in: the config's own wish; GDN float32; Mamba as the model."""
    wish = keys.text("mamba_ssm_dtype") or keys.text("mamba_ssm_cache_dtype")
    if wish and wish != "auto":
        if wish not in _DTYPES:
            raise keys.bad("mamba_ssm_dtype", f"{wish!r} is not one of: {', '.join(_DTYPES)}")
        return _DTYPES[wish]
    return "f32" if linear is None or linear.f32_default else dtype


def _heads(keys: Keys) -> int:
    return keys.number("num_attention_heads", "n_head", least=1, most=65_536) or 1


def _attention(keys: Keys, picks_own: bool, is_window: bool, family: str | None) -> Attention:
    """Some sparse models share one layer's choice among several; such layers own no indexer."""
    if keys.has("kv_lora_rank"):
        width = keys.need("kv_lora_rank") + (keys.number("qk_rope_head_dim") or 0)
        picks = keys.number("index_head_dim") if picks_own else 0
        return Attention(1, width, 0, latent=True, indexer_width=picks or 0)
    window = keys.need("sliding_window") if is_window else None
    heads, width = _kv_heads(keys), _width(keys, family)
    if not is_window and keys.has("global_head_dim"):
        width = keys.need("global_head_dim")
        heads = keys.number("num_global_key_value_heads", least=1) or heads
    values = keys.number("v_head_dim", least=1) or width
    return Attention(heads, width, values, window=window)


def _kv_heads(keys: Keys) -> int:
    if keys.flag("multi_query") and not keys.has("num_key_value_heads"):
        return keys.number("num_kv_heads", "multi_query_group_num", least=1) or 1
    given = keys.number("num_key_value_heads", "num_kv_heads", "n_head_kv", least=1)
    return given or keys.need("num_attention_heads", "n_head", most=65_536)


def _width(keys: Keys, family: str | None) -> int:
    own = keys.number("attention_head_dim", least=1) if family == "zamba2" else None
    given = own or keys.number("head_dim", least=1)
    if given:
        return given
    doubled = 2 if family == "zamba2" else 1
    hidden = keys.need("hidden_size", "n_embd")
    return keys.share(doubled * hidden, "num_attention_heads", "n_head")


def _kinds(
    keys: Keys, family: str | None, count: int, linear: Linear | None
) -> tuple[str, ...] | Unknown:
    """What each layer keeps: full, window, linear, both, or nothing."""
    if linear is not None and linear.kinds:
        return linear.kinds
    words = keys.words("layer_types", count) if keys.has("layer_types") else None
    if words is not None:
        strange = next((word for word in words if word not in _KINDS), None)
        if strange:
            return Unknown(family or "unnamed", f"no rule for a layer of type {strange!r}")
        return tuple(_window_or_full(keys, family, _KINDS[word]) for word in words)
    return _by_period(keys, family, count)


def _by_period(keys: Keys, family: str | None, count: int) -> tuple[str, ...]:
    if not _uses_window(keys, family):
        return ("full",) * count
    named = keys.number("sliding_window_pattern", "_sliding_window_pattern", least=1)
    period = named or WINDOW_PERIODS.get(family or "")
    if not period:
        return ("window",) * count
    return tuple("full" if (index + 1) % period == 0 else "window" for index in range(count))


def _window_or_full(keys: Keys, family: str | None, kind: str) -> str:
    return "full" if kind == "window" and not _uses_window(keys, family) else kind


def _uses_window(keys: Keys, family: str | None) -> bool:
    """A window may be written and unused."""
    used = keys.flag("use_sliding_window")
    if used is None and family in OPTIONAL_WINDOW_TYPES:
        return False
    return keys.has("sliding_window") and used is not False
