"""How vLLM puts layers into groups whose blocks are all of one size. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from meshctl.budget.dtypes import row_bytes
from meshctl.budget.model import Attention
from meshctl.budget.settings import Settings

BLOCK, MLA_BLOCK = 16, 64
"""Tokens in a block where nobody says otherwise; MLA as FlashMLA has it, other kernels 128."""
HYBRID_ALIGNMENT, MLA_HYBRID_ALIGNMENT = 16, 128
DSA_FP8_ROW = 656
"""Bytes a token and layer of the fp8_ds_mla layout: 512 fp8, 4 float32 scales, 64 bf16."""
INDEXER_BLOCK, SCALE_BYTES = 128, 4
"""An indexer's key is fp8 with a float32 scale for so many elements, whatever the cache is."""
MUCH_LARGER = Fraction(3, 2)
"""Below it the larger kind of layers sets the size of a group, for then little is padded."""


@dataclass(frozen=True)
class Group:
    """`count` groups of up to `layers` layers each, which take their blocks alike."""

    kind: str
    layers: int
    count: int
    block: int
    window: int | None = None


@dataclass(frozen=True)
class Layout:
    """Every block of the pool has `bytes_per_block`, whichever group takes it."""

    groups: tuple[Group, ...]
    bytes_per_block: int

    @property
    def block(self) -> int:
        """Tokens in a block of the group with the smallest; recurrent layers count none."""
        return min(group.block for group in self.groups)

    @property
    def group_count(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def growth(self) -> Fraction:
        """Bytes of the pool for one more token of a long request."""
        full = [group for group in self.groups if group.kind == "full"]
        return sum(
            (Fraction(group.count * self.bytes_per_block, group.block) for group in full),
            start=Fraction(0),
        )


def row_of(part: Attention, tp: int, dtype: str) -> int | None:
    """Bytes a token of one layer on one device; None where the type cannot hold its heads.

    Heads are copied where there are more devices than heads. A latent row is on every device.
    """
    if part.latent and part.indexer_width and dtype == "fp8":
        return DSA_FP8_ROW
    heads = 1 if part.latent else max(1, part.kv_heads // tp)
    key = row_bytes(dtype, part.key_width)
    value = 0 if part.latent else row_bytes(dtype, part.value_width)
    return heads * (key + value) if key is not None and value is not None else None


def layout_of(
    attention: Sequence[Attention], states: Sequence[int], tp: int, dtype: str, settings: Settings
) -> Layout:
    """The groups of a model; `states` are the bytes of its recurrent layers on one device."""
    rows = Counter((part.window, row_of(part, tp, dtype) or 0) for part in attention)
    latent = any(part.latent for part in attention)
    block = settings.take("block_size", MLA_BLOCK if latent else BLOCK)
    if states:
        return _hybrid(rows, states, block, latent, settings)
    indexers = sum(_indexer_row(part) for part in attention)
    windows = {window for window, _ in rows}
    if len(windows) == 1:
        window = windows.pop()
        total = sum(row * count for (_, row), count in rows.items()) + indexers
        kind = "full" if window is None else "window"
        return Layout((Group(kind, len(attention), 1, block, window),), block * total)
    return _mixed(rows, block)


def _indexer_row(part: Attention) -> int:
    width = part.indexer_width
    return width + -(-width // INDEXER_BLOCK) * SCALE_BYTES


def _mixed(rows: Counter[tuple[int | None, int]], block: int) -> Layout:
    """Full and windowed layers: narrow ones get more tokens a block, so that all pages match."""
    page = block * max(row for _, row in rows)
    size = _group_size(list(rows.values()))
    groups = tuple(
        Group("full" if window is None else "window", min(size, count), -(-count // size),
              _fitting(block, row, page), window)
        for (window, row), count in sorted(rows.items(), key=lambda one: one[0][0] or 0)
    )  # fmt: skip
    return Layout(groups, page * size)


def _fitting(block: int, row: int, page: int) -> int:
    """Whole multiples of the block only; otherwise its page is padded."""
    return block * (page // (block * row)) if page % (block * row) == 0 else block


def _hybrid(
    rows: Counter[tuple[int | None, int]],
    states: Sequence[int],
    block: int,
    latent: bool,
    settings: Settings,
) -> Layout:
    """A block of attention must hold a state: it is made long enough, the state's page padded."""
    if not rows:
        return Layout((Group("linear", len(states), 1, block),), sum(states))
    alignment = MLA_HYBRID_ALIGNMENT if latent else HYBRID_ALIGNMENT
    row = max(row for _, row in rows)
    needed = -(-max(states) // (alignment * row)) * alignment
    tokens = max(block, needed)
    settings.ledger.work_out(
        "block_tokens", tokens, f"so many, in steps of {alignment}, hold one recurrent state",
        "model", "kv_dtype", "ssm_dtype", "tp", "block_size",
    )  # fmt: skip
    size = _group_size([sum(rows.values()), len(states)])
    count = sum(rows.values())
    groups = (
        Group("full", min(size, count), -(-count // size), tokens),
        Group("linear", min(size, len(states)), -(-len(states) // size), tokens),
    )
    return Layout(groups, tokens * row * size)


def _group_size(counts: Sequence[int]) -> int:
    return max(counts) if max(counts) < min(counts) * MUCH_LARGER else min(counts)
