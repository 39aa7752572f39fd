"""What to give up so that it fits, the cheapest for those who use it first. Pure.

The order is a judgement, and docs/budget.md says it: what nobody notices, then waiting, then what
is refused, then worse answers, then money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meshctl.budget.budget import Budget, Verdict
from meshctl.budget.card import Card
from meshctl.budget.devices import DEVICES
from meshctl.budget.longest import Longest, Retry, longest_of, shape
from meshctl.budget.verdict import enough

SMALL_UBATCH = 128
CACHE_RAM_GRAIN = 64
"""MiB: a round number is easier to remember than the last byte is worth."""
_WIDE = ("f32", "f16", "bf16")
CLOUD_RUN = ("L4", "RTX-PRO-6000")
"""The cards that Cloud Run gives."""


@dataclass(frozen=True)
class Way:
    """One thing to give up: what to write, what it costs, and what comes of it alone. A `mild` one
    takes nothing from anybody that the model could have given."""

    write: str
    costs: str
    verdict: Verdict
    frees_bytes: int | None
    changes: Mapping[str, Any]
    mild: bool = False


@dataclass(frozen=True)
class Served:
    """The shape as it is served now: the context is that of one request, and the longest ones are
    worked out for up to `rows` requests. `made_for` is the model's own longest, None where it does
    not say; `prompts_bytes` what may come to be kept beside it and finds no room, else 0."""

    engine: str
    sequences: int
    rows: int
    context: int
    made_for: int | None
    key_type: str
    ubatch: int
    swa_full: bool
    weights_bytes: int
    prompts_bytes: int = 0

    @property
    def longest(self) -> int:
        """Tokens of a request that the model can make use of."""
        return min(self.context, self.made_for or self.context)


Step = tuple[str, str, dict[str, Any]]
"""What to write, what it costs, what changes in the geometry."""


def ways(now: Budget, served: Served, retry: Retry) -> list[Way]:
    """Each by itself; nothing where it fits as it is, or where nobody knows whether it does."""
    if now.verdict not in ("tight", "no"):
        return []
    mild = [_way(now, step, retry, mild=True) for step in _mild(now, served)]
    if mild_enough(mild):
        return mild
    steps = [*_unnoticed(served), *_waiting(served, retry), *_refusing(served, retry),
             *_worse(served)]  # fmt: skip
    return [*mild, *(_way(now, step, retry) for step in steps)]


def mild_enough(found: Sequence[Way]) -> bool:
    """Whether it fits without anything that users, or those who pay, would notice."""
    return any(way.mild and way.verdict == "fits" for way in found)


def together(found: list[Way], retry: Retry) -> list[Way]:
    """The first few in their order that make it fit, where none does by itself."""
    if any(way.verdict == "fits" for way in found):
        return []
    changes: dict[str, Any] = {}
    for count, way in enumerate(found, 1):
        changes |= way.changes
        if count > 1 and retry(changes).verdict == "fits":
            return found[:count]
    return []


def lighter(now: Budget, served: Served, retry: Retry) -> int | None:
    """How heavy weights may be on one device so that the shape fits as it is."""
    if now.verdict not in ("tight", "no"):
        return None
    low, high = 0, served.weights_bytes
    if retry({"weights_bytes": low}).verdict != "fits":
        return None
    while high - low > 2**24:
        middle = (low + high) // 2
        fits = retry({"weights_bytes": middle}).verdict == "fits"
        low, high = (middle, high) if fits else (low, middle)
    return low


def larger_card(card: Card, elsewhere: Callable[[Card], Budget], *, cloud: bool) -> str | None:
    """The smallest known card on which it fits."""
    rows = [row for row in DEVICES if row.usable_bytes > card.usable_bytes and not row.unified
            and (not cloud or row.name in CLOUD_RUN)]  # fmt: skip
    for row in sorted(rows, key=lambda row: row.usable_bytes):
        other = Card(row.name, card.count, row.usable_bytes, row.source, row.text)
        if elsewhere(other).verdict == "fits":
            return other.spelled
    return None


def _mild(now: Budget, served: Served) -> Iterator[Step]:
    """As many kept prompts as there is room for, and no context beyond the model's."""
    if served.prompts_bytes:
        room = (now.margin_bytes or 0) - enough(now.usable_bytes or 0)
        mib = max(0, room // 2**20 // CACHE_RAM_GRAIN * CACHE_RAM_GRAIN)
        costs = "fewer prompts are kept: those that come back are read again"
        yield f"--cache-ram {mib}", costs, {"cache_ram_mib": mib}
    if served.longest < served.context:
        changes = shape(served.engine, served.sequences, served.longest)
        costs = f"costs nothing: the model was made for {served.longest:,} tokens a request"
        yield _context(served, changes), costs, changes


def _unnoticed(served: Served) -> Iterator[Step]:
    if served.swa_full:
        costs = "prompts that begin alike are read again"
        yield "leave --swa-full out", costs, {"swa_full": "false"}
    if served.key_type in _WIDE and served.engine == "vllm":
        costs = "answers that hardly differ"
        yield "--kv-cache-dtype fp8", costs, {"kv_dtype": "fp8"}
    if served.key_type in _WIDE and served.engine == "llama.cpp":
        types = {"kv_dtype_k": "q8_0", "kv_dtype_v": "q8_0", "flash_attn": "true"}
        yield "-ctk q8_0 -ctv q8_0 -fa on", "answers that hardly differ", types


def _waiting(served: Served, retry: Retry) -> Iterator[Step]:
    if served.engine == "llama.cpp" and served.ubatch > SMALL_UBATCH:
        changes = {"ubatch": SMALL_UBATCH}
        yield f"-ub {SMALL_UBATCH}", "prompts that are read more slowly", changes
    if served.sequences > 1:
        count = _fewer(served, retry)
        flag = "-np" if served.engine == "llama.cpp" else "--max-num-seqs"
        changes = shape(served.engine, count, served.context)
        written = f"{flag} {count}"
        if served.engine == "llama.cpp":
            written += f" -c {changes['context']}"
        yield written, f"{count} at once instead of {served.sequences}; the others wait", changes


def _fewer(served: Served, retry: Retry) -> int:
    """The most that fit at the length of now; one where not even that does."""
    low, high = 1, served.sequences
    while high - low > 1:
        middle = (low + high) // 2
        fits = retry(shape(served.engine, middle, served.context)).verdict == "fits"
        low, high = (middle, high) if fits else (low, middle)
    return low


def _refusing(served: Served, retry: Retry) -> Iterator[Step]:
    best: Longest = longest_of(served.engine, served.longest, served.sequences, retry)
    tokens = best.fits or best.tight
    if tokens is None or tokens >= served.longest:
        return
    changes = shape(served.engine, served.sequences, tokens)
    yield _context(served, changes), f"requests beyond {tokens:,} tokens are refused", changes


def _context(served: Served, changes: Mapping[str, Any]) -> str:
    flag = "-c" if served.engine == "llama.cpp" else "--max-model-len"
    return f"{flag} {changes['context']}"


def _worse(served: Served) -> Iterator[Step]:
    if served.engine == "llama.cpp" and served.key_type in (*_WIDE, "q8_0"):
        types = {"kv_dtype_k": "q4_0", "kv_dtype_v": "q4_0", "flash_attn": "true"}
        yield "-ctk q4_0 -ctv q4_0 -fa on", "worse answers, most of all to long prompts", types


def _way(now: Budget, step: Step, retry: Retry, *, mild: bool = False) -> Way:
    write, costs, changes = step
    found = retry(changes)
    told = now.kv_caches is not None and found.kv_caches is not None  # vLLM's pool takes the rest
    freed = _kept(now) - _kept(found) if told else None
    return Way(write, costs, found.verdict, freed, changes, mild)


def _kept(budget: Budget) -> int:
    """What the shape takes of the device beside the weights."""
    return sum((budget.pool_bytes or 0, budget.state_bytes or 0, budget.overhead_high_bytes or 0))
