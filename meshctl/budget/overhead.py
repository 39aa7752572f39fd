"""What an engine takes beside weights and caches: a band, for no header tells it. Pure.

The ends are those of logs (see docs/budget.md); a measured boot is worth more than any band.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.budget.ledger import Source
from meshctl.budget.model import Model
from meshctl.budget.settings import Settings

MIB, GIB = 2**20, 2**30
LEAST = round(0.4 * GIB)
"""vLLM: a 9B model without its eyes on a card of 16 GB."""
MOST_PLAIN = round(3.5 * GIB)
"""vLLM: 3.3 GiB of an 8B model that profiled 29,000 tokens, the most of a dense one."""
MOST_HEAVY = round(9.5 * GIB)
"""vLLM: 9.3 GiB of a model with experts, graphs included."""
MEASURED_BATCH = 16_384
MORE_PER_1024 = round(0.22 * GIB)
"""vLLM: what 1,024 more tokens a batch took of a model with experts."""
LLAMA_CONTEXT = (150 * MIB, 400 * MIB)
"""What a CUDA context takes before the first tensor."""
LLAMA_COMPUTE = (38 * MIB, 300 * MIB)
LARGEST_VOCABULARY = 262_144
"""Gemma's; taken where the file names none."""


@dataclass(frozen=True)
class Band:
    """Bytes on one device, from the least to the most that was seen."""

    low: int
    high: int
    source: Source = "assumed"


def vllm_overhead(model: Model, batched_tokens: int, settings: Settings) -> Band:
    """Activations, graphs, workspaces, contexts."""
    more = max(0, batched_tokens - MEASURED_BATCH) * MORE_PER_1024 // 1024
    most = (MOST_HEAVY if model.heavy else MOST_PLAIN) + more
    why = "experts or more than text" if model.heavy else "dense, text alone"
    return _told(Band(LEAST, most), f"vLLM, {why}: as far as logs spread", settings)


def llama_overhead(model: Model, ubatch: int, cells: int, flash: bool, settings: Settings) -> Band:
    """The compute buffer and the driver's context; without flash attention the scores, too."""
    outputs = ubatch * (model.vocab or LARGEST_VOCABULARY) * 4
    scores = 0 if flash else model.heads * cells * ubatch * 4
    low = LLAMA_CONTEXT[0] + LLAMA_COMPUTE[0] + scores
    high = LLAMA_CONTEXT[1] + max(LLAMA_COMPUTE[1], outputs) + scores
    text = f"llama.cpp: a driver's context, and logits of {ubatch} tokens at most"
    return _told(Band(low, high), text, settings)


def _told(band: Band, text: str, settings: Settings) -> Band:
    measured = settings.told.measured
    if measured.overhead is not None:
        band, text = Band(*measured.overhead, measured.source), measured.text
    settings.ledger.note("overhead_low_bytes", band.low, band.source, text)
    settings.ledger.note("overhead_high_bytes", band.high, band.source, text)
    return band
