"""What an engine makes of a model's caches: the answer of `vllm` and of `llama`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Allocation:
    """One buffer of llama.cpp: `cells` tokens for each stream, all streams in `bytes`."""

    name: str
    layers: int
    cells: int
    bytes: int


@dataclass(frozen=True)
class Blocks:
    """How vLLM cuts its pool. `request` is what one request of `context` tokens holds; `held_back`
    blocks are nobody's; `least` is how many there must be for `sequences` states, else 0.
    `by_concurrency`: how this version counts the tokens that its log names."""

    tokens: int
    bytes: int
    groups: int
    request: int
    held_back: int
    least: int
    by_concurrency: bool


@dataclass(frozen=True)
class Cache:
    """Bytes on one device. `refusals` are settings that the engine does not start with."""

    kv_bytes_per_token: Fraction
    state_bytes_per_sequence: int
    context: int
    sequences: int
    batched_tokens: int
    blocks: Blocks | None = None
    allocations: tuple[Allocation, ...] = ()
    state_bytes: int | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    refusals: tuple[tuple[str, str], ...] = ()

    @property
    def pool_bytes(self) -> int:
        """Of llama.cpp, whose buffers are as large as they are asked for."""
        return sum(one.bytes for one in self.allocations)


class NoContext(Exception):
    """Neither the file nor the model says how long a context is."""
