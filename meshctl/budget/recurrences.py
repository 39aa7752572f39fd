"""Reads from config.json keys which layers keep a state for each sequence, and how large. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.budget.keys import Keys
from meshctl.budget.model import Recurrent

_PATTERN = {"M": "linear", "*": "full", "-": "nothing", "E": "nothing"}
_BLOCKS = {"mamba": "linear", "hybrid": "both", "attention": "full", "mlp": "nothing",
           "moe": "nothing", "m": "linear", "g": "both", "a": "full"}  # fmt: skip


@dataclass(frozen=True)
class Linear:
    """The recurrent layer of a hybrid; `kinds` by layer, empty where `layer_types` says it.

    `f32_default`: the state is float32 unless somebody says otherwise, whatever the model is.
    """

    part: Recurrent
    kinds: tuple[str, ...] = ()
    f32_default: bool = False


def linear_layers(keys: Keys, family: str | None, count: int) -> Linear | None:
    """None for a model of attention alone."""
    if keys.has("linear_num_value_heads"):
        kinds = () if keys.has("layer_types") else _every(keys, count)
        return Linear(_gated_delta(keys), kinds, f32_default=True)
    if keys.has("linear_attn_config"):
        return _kimi(keys, count)
    if keys.has("conv_L_cache"):
        inner = keys.number("conv_dim", least=1) or keys.need("hidden_size")
        part = Recurrent(keys.need("conv_L_cache", least=2, most=64), inner, 0, 0, 0, 1)
        return Linear(part, () if keys.has("layer_types") else _listed(keys, count))
    if family == "jamba" or keys.has("mamba_dt_rank"):
        return Linear(_mamba1(keys), _offset(keys, count))
    if any(keys.has(name) for name in ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")):
        return Linear(_mamba2(keys, family), _of_mamba2(keys, family, count))
    return None


def _every(keys: Keys, count: int) -> tuple[str, ...]:
    period = keys.number("full_attention_interval", least=1) or 4
    return tuple("full" if (index + 1) % period == 0 else "linear" for index in range(count))


def _gated_delta(keys: Keys) -> Recurrent:
    """GDN: a convolution over queries, keys and values, and a matrix for each value head."""
    key_heads, value_heads = keys.need("linear_num_key_heads"), keys.need("linear_num_value_heads")
    key_dim, value_dim = keys.need("linear_key_head_dim"), keys.need("linear_value_head_dim")
    return Recurrent(
        kernel=keys.number("linear_conv_kernel_dim", least=1, most=64) or 4,
        inner=value_heads * value_dim,
        groups=key_heads,
        state_size=key_dim,
        state=value_heads * value_dim * key_dim,
        heads=value_heads,
    )


def _kimi(keys: Keys, count: int) -> Linear:
    """KDA: queries, keys and values of one width, the state always float32; layers count from 1."""
    inner = keys.under("linear_attn_config")
    heads, width = inner.need("num_heads"), inner.need("head_dim")
    full = inner.indices("full_attn_layers")
    kinds = tuple("full" if index + 1 in full else "linear" for index in range(count))
    kernel = inner.number("short_conv_kernel_size", least=1, most=64) or 4
    state = heads * width * width
    part = Recurrent(kernel, heads * width, heads, width, state, heads, f32=True)
    return Linear(part, kinds, f32_default=True)


def _listed(keys: Keys, count: int) -> tuple[str, ...]:
    full = keys.indices("full_attn_idxs")
    return tuple("full" if index in full else "linear" for index in range(count))


def _offset(keys: Keys, count: int) -> tuple[str, ...]:
    period = keys.number("attn_layer_period", least=1) or 8
    first = keys.number("attn_layer_offset") or 0
    return tuple("full" if index % period == first else "linear" for index in range(count))


def _mamba1(keys: Keys) -> Recurrent:
    expand = keys.number("mamba_expand", least=1) or 2
    inner, size = expand * keys.need("hidden_size"), keys.need("mamba_d_state")
    kernel = keys.number("mamba_d_conv", least=1, most=64) or 4
    return Recurrent(kernel, inner, 0, 0, inner * size, inner)


def _mamba2(keys: Keys, family: str | None) -> Recurrent:
    among = ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    heads = keys.need(*among)
    width = keys.number("mamba_d_head", "mamba_head_dim", "mamba_headdim", least=1)
    expand = keys.number("mamba_expand", "expand", least=1) or 2
    width = width or keys.share(expand * keys.need("hidden_size"), *among)
    own = keys.number("mamba_d_ssm", least=1) if family == "falcon_h1" else None
    inner, size = own or heads * width, keys.need("mamba_d_state", "ssm_state_size")
    groups = keys.number("mamba_n_groups", "n_groups", "mamba_ngroups", least=1) or 1
    kernel = keys.number("mamba_d_conv", "conv_kernel", least=1, most=64) or 4
    return Recurrent(kernel, inner, groups, size, heads * width * size, heads)


def _of_mamba2(keys: Keys, family: str | None, count: int) -> tuple[str, ...]:
    if family == "falcon_h1":
        return ("both",) * count
    pattern = keys.text("hybrid_override_pattern")
    if pattern is not None:
        if len(pattern) != count or not set(pattern) <= set(_PATTERN):
            raise keys.bad("hybrid_override_pattern", f"{count} signs of M * - E are wanted here")
        return tuple(_PATTERN[sign] for sign in pattern)
    blocks = keys.words("layers_block_type", count)
    if blocks is not None:
        if not set(blocks) <= set(_BLOCKS):
            raise keys.bad("layers_block_type", f"one of: {', '.join(_BLOCKS)}")
        return tuple(_BLOCKS[block] for block in blocks)
    if keys.has("attn_layer_indices"):
        full = keys.indices("attn_layer_indices")
        return tuple("full" if index in full else "linear" for index in range(count))
    if keys.has("layer_types"):
        return ()
    raise keys.bad("layers_block_type", "nothing says which layers are attention")
