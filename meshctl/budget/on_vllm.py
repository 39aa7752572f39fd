"""vLLM's pool against the memory of a device: what is left of it, and what it must hold. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from meshctl.budget.budget import Budget
from meshctl.budget.cache import Blocks, Cache
from meshctl.budget.model import Model
from meshctl.budget.overhead import Band, vllm_overhead
from meshctl.budget.settings import Settings
from meshctl.budget.verdict import Condition, judge, kept_prompts, margin, unknown_neighbours
from meshctl.budget.vllm import NEWEST, concurrency_of

UTILISATION_OLD, UTILISATION_NEW, SINCE = 0.9, 0.92, (0, 20, 0)
"""gpu_memory_utilization was 0.9 up to 0.19.1 and is 0.92 in 0.33.0."""


@dataclass(frozen=True)
class Room:
    """Bytes for the pool with the least and the most overhead; None where nobody can tell."""

    best: int | None
    worst: int | None
    band: Band
    requested: int | None


def vllm_budget(model: Model, cache: Cache, settings: Settings) -> Budget:
    """The pool that is left, the blocks in it, and whether they are enough."""
    blocks, given, ledger = cache.blocks, settings.geometry, settings.ledger
    assert blocks is not None, "vLLM has blocks"
    room = _room(model, cache, settings)
    known = room.worst is not None
    num_blocks = max(0, room.worst or 0) // blocks.bytes if known else None
    tokens, concurrency = (
        concurrency_of(cache, num_blocks) if num_blocks is not None else (None, None)
    )
    others = settings.others()
    free = _free(room, others, settings)
    if num_blocks is not None:
        text = f"as many blocks of {blocks.bytes:,} bytes as go into {room.worst:,}"
        ledger.work_out("num_blocks", num_blocks, text, "available_kv_bytes", "bytes_per_block")
        ledger.work_out("kv_tokens", tokens, "as this version's log counts", "num_blocks")
        ledger.work_out(
            "max_concurrency", concurrency, f"requests of {cache.context:,} tokens at once",
            "num_blocks", "request_blocks",
        )  # fmt: skip
    verdict, binds = judge(_conditions(cache, blocks, room, (others, free), settings), ledger)
    return Budget(
        verdict, binds, (),
        kv_bytes_per_token=float(cache.kv_bytes_per_token),
        block_tokens=blocks.tokens,
        bytes_per_block=blocks.bytes,
        num_blocks=num_blocks,
        state_bytes_per_sequence=cache.state_bytes_per_sequence,
        pool_bytes=num_blocks * blocks.bytes if num_blocks is not None else None,
        kv_tokens=tokens,
        max_concurrency=concurrency,
        weights_bytes=given.weights_bytes,
        overhead_low_bytes=room.band.low,
        overhead_high_bytes=room.band.high,
        usable_bytes=given.device_bytes,
        others_bytes=others[1],
        margin_bytes=free[1] if free else None,
    )  # fmt: skip


def _room(model: Model, cache: Cache, settings: Settings) -> Room:
    """As an engine printed it, else the device's share less weights and overhead."""
    given, ledger = settings.geometry, settings.ledger
    weights, device = settings.note("weights_bytes"), settings.note("device_bytes")
    requested = _requested(settings) if device is not None else None
    printed, pinned = given.available_kv_bytes, given.kv_memory_bytes
    if printed is None and pinned is not None:
        settings.note("kv_memory_bytes", "the pool, pinned: the engine does not work it out")
        band = vllm_overhead(model, cache.batched_tokens, settings)
        return Room(pinned, pinned, band, requested)
    if printed is not None:
        ledger.note("available_kv_bytes", printed, "measured", "as the engine printed it")
        return Room(printed, printed, _band(model, cache, requested, settings), requested)
    band = vllm_overhead(model, cache.batched_tokens, settings)
    if requested is None or weights is None:
        return Room(None, None, band, requested)
    best, worst = requested - weights - band.low, requested - weights - band.high
    ledger.work_out(
        "available_kv_bytes", worst, f"share less weights and the most overhead; {best:,} with "
        "the least", "requested_bytes", "weights_bytes", "overhead_high_bytes",
    )  # fmt: skip
    return Room(best, worst, band, requested)


def _requested(settings: Settings) -> int:
    """What the engine asks of the device's total, rounded up as it does."""
    given = settings.geometry
    version = settings.parsed(NEWEST)
    share = settings.take("utilisation", UTILISATION_NEW if version >= SINCE else UTILISATION_OLD)
    requested: int = ceil((given.device_bytes or 0) * share)
    settings.ledger.work_out(
        "requested_bytes", requested, f"{share:g} of the device", "device_bytes", "utilisation"
    )
    return requested


def _band(model: Model, cache: Cache, requested: int | None, settings: Settings) -> Band:
    """Where share, weights and pool are known the overhead is what is left of the share."""
    given = settings.geometry
    told = given.utilisation is not None and settings.told.measured.overhead is None
    if requested is None or given.weights_bytes is None or not told:
        return vllm_overhead(model, cache.batched_tokens, settings)
    left = requested - given.weights_bytes - (given.available_kv_bytes or 0)
    if left < 0:
        return vllm_overhead(model, cache.batched_tokens, settings)
    text = "the device's share less weights and the pool that was printed"
    settings.ledger.note("overhead_low_bytes", left, "measured", text)
    settings.ledger.note("overhead_high_bytes", left, "measured", text)
    return Band(left, left, "measured")


def _free(room: Room, others: tuple[int, int], settings: Settings) -> tuple[int, int] | None:
    """What stays free on the device, with the least and the most overhead."""
    given = settings.geometry
    device, weights = given.device_bytes, given.weights_bytes
    if device is None or weights is None or room.worst is None or room.best is None:
        return None
    if given.available_kv_bytes is None and given.kv_memory_bytes is None:
        assert room.requested is not None, "there is a device"
        best = worst = device - max(room.requested, weights + room.band.low)
    else:
        best = device - weights - room.best - room.band.low
        worst = device - weights - room.worst - room.band.high
    best, worst = best - others[0], worst - others[1]
    settings.ledger.work_out(
        "margin_bytes", worst, f"what stays free on the device; {best:,} at best",
        "device_bytes", "weights_bytes", "available_kv_bytes",
    )  # fmt: skip
    return best, worst


def _conditions(
    cache: Cache,
    blocks: Blocks,
    room: Room,
    device: tuple[tuple[int, int], tuple[int, int] | None],
    settings: Settings,
) -> list[Condition]:
    given = settings.geometry
    others, free = device
    if room.best is None or room.worst is None:
        name = "device_bytes" if given.device_bytes is None else "weights_bytes"
        return [Condition(name, None, None, "neither told nor printed: the pool is not known")]
    best, worst = (max(0, each) // blocks.bytes for each in (room.best, room.worst))
    need = blocks.request + blocks.held_back
    found = [
        Condition("context", best >= need, worst >= need,
                  f"{need:,} blocks for one request of {cache.context:,} tokens")
    ]  # fmt: skip
    if blocks.least:
        least = blocks.least
        text = f"a block for the state of each of {least:,} sequences"
        found.append(Condition("sequences", best >= least, worst >= least, text))
    if given.sequences is not None:
        whole = blocks.request * given.sequences
        text = f"{whole:,} blocks for all sequences at full length; otherwise some wait"
        found.append(Condition("max_concurrency", True, worst >= whole, text))
    if free is not None and given.device_bytes is not None:
        found += _at_start(room, others, given.device_bytes)
        found.append(margin(given.device_bytes, *free))
        found += kept_prompts(given.device_bytes, free[1], settings)
    return found + unknown_neighbours(settings)


def _at_start(room: Room, others: tuple[int, int], device_bytes: int) -> list[Condition]:
    """It does not start where less is free than it asks for, whatever it would need in the end."""
    if room.requested is None or not others[1]:
        return []
    best, worst = (room.requested <= device_bytes - taken for taken in others)
    text = f"{room.requested:,} bytes must be free at the start, beside the others"
    return [Condition("utilisation", best, worst, text)]
