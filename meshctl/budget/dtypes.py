"""How many bytes a row of cache takes in each type that an engine can keep it in. Pure."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

Dtype = Literal["f32", "f16", "bf16", "fp8", "nvfp4", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]

BLOCK = 32
"""Elements that share a scale in llama.cpp's quantised types."""
BYTES: dict[str, Fraction] = {
    "f32": Fraction(4), "f16": Fraction(2), "bf16": Fraction(2), "fp8": Fraction(1),
    "nvfp4": Fraction(1, 2) + Fraction(1, 16),
    "q8_0": Fraction(34, BLOCK), "q5_1": Fraction(24, BLOCK), "q5_0": Fraction(22, BLOCK),
    "q4_1": Fraction(20, BLOCK), "q4_0": Fraction(18, BLOCK),
}  # fmt: skip
"""Bytes an element. nvfp4: half a byte, and a scale byte for 16 elements (vLLM's cache layout)."""
QUANTISED = frozenset({"q8_0", "q5_1", "q5_0", "q4_1", "q4_0"})
OF_VLLM = ("f32", "f16", "bf16", "fp8", "nvfp4")
OF_LLAMA = ("f32", "f16", "bf16", *sorted(QUANTISED))


@lru_cache(maxsize=4096)
def row_bytes(dtype: str, elements: int) -> int | None:
    """The bytes of one row; None where the engine cannot cut the row into whole blocks."""
    size = BYTES[dtype] * elements
    whole = elements % BLOCK == 0 if dtype in QUANTISED else size.denominator == 1
    return int(size) if whole else None
