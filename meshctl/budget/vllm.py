"""vLLM's pool: layers to groups, groups to one page size, pages to blocks. Pure.

As vllm/v1/core/kv_cache_utils.py (0.11.0, 0.19.1, 0.20.2) and kv_cache_planning.py (0.33.0) do it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from meshctl.budget.cache import Blocks, Cache, NoContext
from meshctl.budget.dtypes import BYTES, OF_VLLM
from meshctl.budget.model import Model, Recurrent
from meshctl.budget.settings import ONLY_LLAMA, Settings
from meshctl.budget.vllm_groups import Layout, layout_of, row_of

NEWEST = (0, 33, 0)
TOKENS_BY_CONCURRENCY = (0, 19, 2)
"""From here on "GPU KV cache size" is concurrency times context: 0.19.1 is old, 0.20.2 new."""
TWO_BATCHES = (0, 33, 0)
"""From here on a window keeps the tokens of two batches in flight (asynchronous scheduling)."""
SMALL_CARD, LARGE_CARD = 70 * 2**30, 160 * 2**30
HYBRID_PREFIX_CACHING = (0, 20, 0)
"""Assumed: hybrids cache prefixes by default from here on; the older ones refuse to."""
_SSM = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def vllm_cache(model: Model, settings: Settings) -> Cache:
    """The caches of this model under these settings. Raises NoContext."""
    ledger = settings.ledger
    version = settings.version(NEWEST)
    tp = settings.take("tp", 1)
    context = settings.take("context", model.context, "left out: the model's own longest")
    if context is None:
        raise NoContext
    device = settings.geometry.device_bytes or 0
    sequences = settings.take("sequences", 1024 if device >= SMALL_CARD else 256)
    batched = settings.take("batched_tokens", _batched(device))
    spec = settings.take("spec_tokens", 0)
    dtype = _kv_dtype(model, settings)
    settings.unused(ONLY_LLAMA)
    refusals = tuple(_refusals(model, tp, dtype, settings))
    if refusals:
        return Cache(Fraction(0), 0, context, sequences, batched, refusals=refusals)
    attention = model.attention + (model.drafts if spec else ())
    if spec and model.drafts:
        text = "layers that speculation adds, each with a cache"
        ledger.note("draft_layers", len(model.drafts), "assumed", text)
    states = [_state_bytes(model, one, tp, spec, settings) for one in model.recurrent]
    layout = layout_of(attention, tuple(states), tp, dtype, settings)
    in_flight = batched * (2 if version >= TWO_BATCHES else 1)
    copies = _copies(model, spec, version, settings)
    blocks = Blocks(
        tokens=layout.block,
        bytes=layout.bytes_per_block,
        groups=layout.group_count,
        request=_request_blocks(layout, context, in_flight, copies),
        held_back=1 if version >= TOKENS_BY_CONCURRENCY else 0,
        least=sequences if states else 0,
        by_concurrency=version >= TOKENS_BY_CONCURRENCY,
    )
    cache = Cache(layout.growth, sum(states), context, sequences, batched, blocks)
    _explain(settings, layout, cache, blocks)
    return cache


def _explain(settings: Settings, layout: Layout, cache: Cache, blocks: Blocks) -> None:
    ledger = settings.ledger
    layers = "; ".join(
        f"{g.count} of {g.layers} {g.kind} layers, {g.block} tokens a block" for g in layout.groups
    )
    ledger.work_out("groups", blocks.groups, f"groups of layers: {layers}", "model", "block_size")
    ledger.work_out(
        "bytes_per_block", blocks.bytes, "one page of every layer of a group",
        "model", "kv_dtype", "block_size", "tp",
    )  # fmt: skip
    ledger.work_out(
        "request_blocks", blocks.request, f"what one request of {cache.context:,} tokens holds",
        "bytes_per_block", "context", "batched_tokens", "prefix_caching",
    )  # fmt: skip
    ledger.work_out(
        "kv_bytes_per_token", float(cache.kv_bytes_per_token),
        "what the pool gives up for one more token", "bytes_per_block",
    )  # fmt: skip
    ledger.work_out(
        "state_bytes_per_sequence", cache.state_bytes_per_sequence,
        "of all recurrent layers; it lives in blocks of the pool", "model", "ssm_dtype", "tp",
    )  # fmt: skip


def concurrency_of(cache: Cache, num_blocks: int) -> tuple[int, float]:
    """What the log will call the size of the cache in tokens, and the concurrency for `context`."""
    blocks = cache.blocks
    assert blocks is not None, "vLLM has blocks"
    concurrency = num_blocks / blocks.request
    if blocks.by_concurrency:
        return int(concurrency * cache.context), concurrency
    return num_blocks // blocks.groups * blocks.tokens, concurrency


def _request_blocks(layout: Layout, context: int, in_flight: int, copies: int) -> int:
    """A window may begin inside a block, which costs one more."""
    total = 0
    for group in layout.groups:
        if group.kind == "linear":
            total += group.count * copies
        elif group.window is None:
            total += group.count * -(-context // group.block)
        else:
            tokens = min(group.window - 1 + in_flight, context)
            total += group.count * (-(-tokens // group.block) + 1)
    return total


def _batched(device_bytes: int) -> int:
    """The server's default; A100 and GB10 take the smallest although they are large."""
    if device_bytes >= LARGE_CARD:
        return 16_384
    return 8192 if device_bytes >= SMALL_CARD else 2048


def _kv_dtype(model: Model, settings: Settings) -> str:
    given = settings.geometry
    if given.kv_dtype is None and (given.kv_dtype_k or given.kv_dtype_v):
        return str(settings.take("kv_dtype_k" if given.kv_dtype_k else "kv_dtype_v", None))
    auto = model.dtype if model.dtype != "f32" else "bf16"
    return str(settings.take("kv_dtype", auto, "left out: auto, as the model is"))


def _copies(model: Model, spec: int, version: tuple[int, int, int], settings: Settings) -> int:
    """States that a request holds at once: one more where prefixes are cached."""
    if not model.recurrent:
        return 1
    cached = settings.take(
        "prefix_caching", version >= HYBRID_PREFIX_CACHING, "left out: by version, for a hybrid"
    )
    return (2 if cached else 1) + spec


def _state_bytes(model: Model, one: Recurrent, tp: int, spec: int, settings: Settings) -> int:
    """One layer's state on one device: the convolution in the model's type, the rest in its own."""
    wish = settings.geometry.ssm_dtype
    written = None if wish in (None, "auto") else str(wish)
    name = "f32" if one.f32 else _SSM.get(written or "", written or model.ssm_dtype)
    width = BYTES[model.dtype if model.dtype != "f32" else "bf16"]
    return int(width * one.conv_elements(tp, spec) + BYTES[name] * (one.state // tp))


def _refusals(model: Model, tp: int, dtype: str, settings: Settings) -> Iterator[tuple[str, str]]:
    """Settings that vLLM does not start with."""
    both = {settings.geometry.kv_dtype_k, settings.geometry.kv_dtype_v} - {None}
    if len(both) > 1:
        yield "kv_dtype", "vLLM keeps keys and values in one type"
    if dtype not in OF_VLLM:
        yield "kv_dtype", f"vLLM has no {dtype} cache"
    elif any(row_of(part, 1, dtype) is None for part in model.attention):
        yield "kv_dtype", f"these heads cannot be kept as {dtype}"
    if model.heads % tp:
        yield "tp", f"{model.heads} attention heads cannot be shared by {tp} devices"
    for heads in sorted({part.kv_heads for part in model.attention if not part.latent}):
        if heads % tp and tp % heads:
            yield "tp", f"{heads} key heads cannot be shared by {tp} devices"
    for heads in sorted({part.heads for part in model.recurrent if part.heads > 1}):
        if heads % tp:
            yield "tp", f"{heads} recurrent heads cannot be shared by {tp} devices"
