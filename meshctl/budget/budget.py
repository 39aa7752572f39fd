"""The answer: what fits, how much is left, and every number that led there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshctl.budget.cache import Allocation
from meshctl.budget.ledger import Line

Verdict = Literal["fits", "tight", "no", "unknown"]


@dataclass(frozen=True)
class Budget:
    """Bytes on one device; None where a number does not apply or is not known.

    `binds` names the condition that decided; None when everything fits.
    """

    verdict: Verdict
    binds: str | None
    why: tuple[Line, ...]
    kv_bytes_per_token: float | None = None
    block_tokens: int | None = None
    bytes_per_block: int | None = None
    num_blocks: int | None = None
    state_bytes_per_sequence: int | None = None
    state_bytes: int | None = None
    pool_bytes: int | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    kv_caches: tuple[Allocation, ...] | None = None
    weights_bytes: int | None = None
    graphs_bytes: int | None = None
    arena_bytes: int | None = None
    non_torch_bytes: int | None = None
    overhead_low_bytes: int | None = None
    overhead_high_bytes: int | None = None
    usable_bytes: int | None = None
    others_bytes: int | None = None
    margin_bytes: int | None = None

    @property
    def fits(self) -> bool:
        """Whether it is worth a boot."""
        return self.verdict in ("fits", "tight")
