"""llama.cpp's buffers: a cache for each kind of layer, cells for each stream, states. Pure.

As src/llama-kv-cache*.cpp, llama-memory-recurrent.cpp and llama-context.cpp do it, and as
llama-server build 11434 prints it with -lv 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from meshctl.budget.cache import Allocation, Cache, NoContext
from meshctl.budget.dtypes import OF_LLAMA, QUANTISED, row_bytes
from meshctl.budget.ledger import Source
from meshctl.budget.model import Attention, Model
from meshctl.budget.settings import ONLY_VLLM, Geometry, Settings

PAD = 256
"""Cells are allocated in steps of so many; builds of 2025 took 32."""
AUTO_SLOTS = 4
"""What the server makes of a missing -np; only then do its slots share one pool."""
MOST_SLOTS = 256
BATCH, UBATCH = 2048, 512
STATE_BYTES = 4
"""A state is float32, whatever the caches are."""


@dataclass(frozen=True)
class Shape:
    """The settings of a llama-server, worked out."""

    slot: int
    streams: int
    sequences: int
    unified: bool
    ubatch: int
    swa_full: bool
    flash: bool
    key_type: str
    value_type: str
    spec: int
    devices: int


def llama_cache(model: Model, settings: Settings) -> Cache:
    """The caches of this model under these settings. Raises NoContext."""
    given, ledger = settings.geometry, settings.ledger
    ledger.note("engine_version", given.engine_version or "build 11434", *_of_version(given))
    context = settings.take("context", model.context, "left out: the model's own longest")
    if context is None:
        raise NoContext
    shape = _shape(model, context, settings)
    settings.unused(ONLY_VLLM)
    refusals = tuple(_refusals(model, shape))
    batched = shape.ubatch
    if refusals:
        return Cache(Fraction(0), 0, shape.slot, shape.sequences, batched, refusals=refusals)
    allocations = tuple(_allocations(model, shape))
    for one in allocations:
        text = f"{one.cells:,} cells, {one.layers} layers, {shape.streams} streams"
        ledger.work_out(f"kv_cache.{one.name}", one.bytes, text, *_OF_CACHES)
    growth = _growth(model, shape)
    ledger.work_out("kv_bytes_per_token", float(growth), "of layers without a window", *_OF_CACHES)
    state = sum(
        _share(STATE_BYTES * (one.conv_elements() + one.state), shape) for one in model.recurrent
    )
    copies = shape.sequences * (1 + shape.spec)
    ledger.work_out("state_bytes_per_sequence", state, "float32, of all recurrent layers", "model")
    ledger.work_out(
        "state_bytes", state * copies, f"for {copies} copies: each slot, and each token guessed "
        "ahead", "model", "sequences", "spec_tokens",
    )  # fmt: skip
    tokens = shape.slot * shape.streams if model.attention else None
    return Cache(
        kv_bytes_per_token=growth,
        state_bytes_per_sequence=state,
        context=shape.slot,
        sequences=shape.sequences,
        batched_tokens=batched,
        allocations=allocations,
        state_bytes=state * copies,
        kv_tokens=tokens,
        max_concurrency=float(shape.streams) if model.attention else float(shape.sequences),
    )


def _of_version(given: Geometry) -> tuple[Source, str]:
    if given.engine_version:
        return "config", "the rules are those of the builds of 2026"
    return "assumed", "left out: the newest build whose log was read"


_OF_CACHES = (
    "model", "context", "sequences", "kv_unified", "kv_dtype", "kv_dtype_k", "kv_dtype_v",
    "ubatch", "swa_full", "flash_attn", "tp",
)  # fmt: skip


def padded(cells: int) -> int:
    """The next multiple of 256."""
    return -(-cells // PAD) * PAD


def _shape(model: Model, context: int, settings: Settings) -> Shape:
    given = settings.geometry
    sequences = settings.take("sequences", AUTO_SLOTS, "left out: the server makes 4 slots")
    unified = settings.take(
        "kv_unified", given.sequences is None, "left out: shared only where -np is left out, too"
    )
    whole = padded(context)
    slot = whole if unified else padded(whole // sequences)
    batch = min(settings.take("batched_tokens", BATCH), whole)
    keys = settings.take("kv_dtype", "f16")
    key_type = settings.take("kv_dtype_k", keys) if given.kv_dtype_k else keys
    value_type = settings.take("kv_dtype_v", keys) if given.kv_dtype_v else keys
    shape = Shape(
        slot=slot,
        streams=1 if unified else sequences,
        sequences=sequences,
        unified=unified,
        ubatch=min(batch, settings.take("ubatch", UBATCH)),
        swa_full=settings.take("swa_full", False),
        flash=settings.take("flash_attn", True, "left out: auto, taken where the card has it"),
        key_type=key_type,
        value_type=value_type,
        spec=settings.take("spec_tokens", 0),
        devices=settings.take("tp", 1),
    )
    settings.ledger.work_out(
        "cells", slot, f"for each of {shape.streams} streams, in steps of {PAD}",
        "context", "sequences", "kv_unified",
    )  # fmt: skip
    if shape.devices > 1:
        text = "llama.cpp gives whole layers to a device: the one with the most is told"
        settings.ledger.note("split", shape.devices, "assumed", text)
    return shape


def _allocations(model: Model, shape: Shape) -> Iterator[Allocation]:
    attention = model.attention
    full = [part for part in attention if part.window is None]
    windowed = [part for part in attention if part.window is not None]
    widest = max((part.value_elements for part in attention), default=0)
    yield from _allocate("full", full, shape.slot, shape, widest)
    for window in sorted({part.window for part in windowed if part.window is not None}):
        same = [part for part in windowed if part.window == window]
        yield from _allocate("sliding", same, _window_cells(window, shape), shape, widest)
    picking = [Attention(1, part.indexer_width, 0, latent=True) for part in attention
               if part.indexer_width]  # fmt: skip
    yield from _allocate("indexer", picking, shape.slot, shape, 0)
    if shape.spec:
        yield from _allocate("draft", model.drafts, shape.slot, shape, widest)


def _window_cells(window: int, shape: Shape) -> int:
    """A shared pool holds the windows of all slots; a batch comes on top of them."""
    if shape.swa_full:
        return shape.slot
    windows = window * (shape.sequences if shape.unified else 1)
    return padded(min(shape.slot, windows + shape.ubatch))


def _allocate(
    name: str, parts: Sequence[Attention], cells: int, shape: Shape, widest: int
) -> Iterator[Allocation]:
    if parts:
        rows = sum(_row(part, shape, widest) for part in parts)
        whole = cells * shape.streams * rows
        yield Allocation(name, len(parts), cells, _share_of_layers(whole, len(parts), shape))


def _row(part: Attention, shape: Shape, widest: int) -> int:
    """Without flash attention all values are padded to the widest layer's."""
    values = part.value_elements if shape.flash or part.latent else widest
    return (row_bytes(shape.key_type, part.key_elements) or 0) + (
        row_bytes(shape.value_type, values) or 0
    )


def _share_of_layers(whole: int, layers: int, shape: Shape) -> int:
    """Of the device with the most layers."""
    return -(-whole * -(-layers // shape.devices) // layers)


def _share(each: int, shape: Shape) -> int:
    return -(-each // shape.devices)


def _growth(model: Model, shape: Shape) -> Fraction:
    full = [part for part in model.attention if part.window is None or shape.swa_full]
    widest = max((part.value_elements for part in model.attention), default=0)
    rows = sum(_row(part, shape, widest) for part in full)
    picks = sum(row_bytes(shape.key_type, p.indexer_width) or 0 for p in full if p.indexer_width)
    return Fraction(rows + picks, shape.devices)


def _refusals(model: Model, shape: Shape) -> Iterator[tuple[str, str]]:
    """Settings that llama-server does not start with."""
    if shape.sequences > MOST_SLOTS:
        yield "sequences", f"llama.cpp has at most {MOST_SLOTS} slots"
    if not shape.slot:
        yield "context", f"{shape.sequences} slots leave none of them a token"
    for dtype in sorted({shape.key_type, shape.value_type}):
        if dtype not in OF_LLAMA:
            yield "kv_dtype", f"llama.cpp has no {dtype} cache"
            return
    if shape.value_type in QUANTISED and not shape.flash:
        yield "flash_attn", f"values are kept as {shape.value_type} only with flash attention"
    if shape.key_type != shape.value_type and any(part.latent for part in model.attention):
        yield "kv_dtype", "a latent holds keys and values in one type"
    for part in model.attention:
        if row_bytes(shape.key_type, part.key_width) is None or (
            not part.latent and row_bytes(shape.value_type, part.value_width) is None
        ):
            yield "kv_dtype", f"heads of {part.key_width} cannot be cut into blocks of 32"
            return
