"""llama.cpp's buffers against the memory of a device. Pure."""

from __future__ import annotations

from meshctl.budget.budget import Budget
from meshctl.budget.cache import Cache
from meshctl.budget.model import Model
from meshctl.budget.overhead import llama_overhead
from meshctl.budget.settings import Settings
from meshctl.budget.verdict import Condition, judge, kept_prompts, margin, unknown_neighbours


def llama_budget(model: Model, cache: Cache, settings: Settings) -> Budget:
    """Weights, caches, states and the band against what the device has."""
    given, ledger = settings.geometry, settings.ledger
    flash = given.flash_attn is not False
    band = llama_overhead(model, cache.batched_tokens, cache.context, flash, settings)
    pool, state = _allocated(cache, settings)
    told = {name: settings.note(name) for name in ("device_bytes", "weights_bytes")}
    usable, weights = told.values()
    others = settings.others()
    _defaults(settings)
    worst = None
    conditions = [_missing(name) for name, value in told.items() if value is None]
    if usable is not None and weights is not None:
        left = usable - weights - pool - (state or 0)
        best, worst = left - band.low - others[0], left - band.high - others[1]
        ledger.work_out(
            "margin_bytes", worst, f"device less all of it; {best:,} with the least overhead",
            "device_bytes", "weights_bytes", "pool_bytes", "state_bytes", "overhead_high_bytes",
        )  # fmt: skip
        conditions = [margin(usable, best, worst), *kept_prompts(usable, worst, settings),
                      *unknown_neighbours(settings)]  # fmt: skip
    verdict, binds = judge(conditions, ledger)
    return Budget(
        verdict, binds, (),
        kv_bytes_per_token=float(cache.kv_bytes_per_token),
        state_bytes_per_sequence=cache.state_bytes_per_sequence,
        state_bytes=state,
        pool_bytes=pool,
        kv_tokens=cache.kv_tokens,
        max_concurrency=cache.max_concurrency,
        kv_caches=cache.allocations,
        weights_bytes=weights,
        overhead_low_bytes=band.low,
        overhead_high_bytes=band.high,
        usable_bytes=usable,
        others_bytes=others[1],
        margin_bytes=worst,
    )  # fmt: skip


def _defaults(settings: Settings) -> None:
    """What llama-server does unasked, as far as it matters to this question."""
    text = "llama-server leaves layers in host memory where it does not fit: `-fit off` fails then"
    if settings.geometry.context is None:
        text = "llama-server shrinks a context it was not told: give -c, and `-fit off`, or less "
        text += "is taken for success"
    settings.ledger.note("fit", True, "default", text)
    if settings.told.prompts is None:
        text = "of prompts at most in host memory (--cache-ram): on unified memory it comes on top"
        settings.ledger.note("host", 8192 * 2**20, "default", text)


def _allocated(cache: Cache, settings: Settings) -> tuple[int, int | None]:
    """Bytes of all caches and all states: as a boot of the same showed them, else worked out."""
    ledger, measured = settings.ledger, settings.told.measured
    ledger.work_out("pool_bytes", cache.pool_bytes, "all caches together", "kv_bytes_per_token")
    pool, state = cache.pool_bytes, cache.state_bytes
    if measured.pool_bytes is not None:
        pool = ledger.note("pool_bytes", measured.pool_bytes, "measured", "all caches, as printed")
    if measured.state_bytes:
        state = ledger.note("state_bytes", measured.state_bytes, "measured", "as printed")
    return pool, state


def _missing(name: str) -> Condition:
    return Condition(name, None, None, "not told, so nothing is said of the device")
