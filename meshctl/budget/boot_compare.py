"""What was predicted of a boot against what it measured, and what went wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from meshctl.budget.answer import Part
from meshctl.budget.boot_recall import declared_context, overhead_of, shape_of, shortened
from meshctl.budget.budget import Budget
from meshctl.budget.card import Card
from meshctl.budget.on_card import Wanted, budget_on, geometry_of
from meshctl.budget.overhead import LLAMA_CONTEXT
from meshctl.budget.tenants import Tenant
from meshctl.engines.boot import BootFacts
from meshctl.state.boot import Boot, BootRecord

Unit = Literal["bytes", "tokens", "times"]


@dataclass(frozen=True)
class Row:
    """One number: predicted between two ends (None: not predicted), and as printed (None: not
    printed). `exact`: how far a printed number is rounded, so that it is no difference."""

    name: str
    unit: Unit
    low: float | None
    high: float | None
    measured: float | None
    exact: float = 0

    @property
    def off(self) -> float | None:
        """How much more was measured than predicted, less below zero; 0 inside the band."""
        if self.low is None or self.high is None or self.measured is None:
            return None
        below, above = self.low - self.exact, self.high + self.exact
        if below <= self.measured <= above:
            return 0
        return self.measured - (self.high if self.measured > above else self.low)


@dataclass(frozen=True)
class Finding:
    """Why a boot is no success, and what to do."""

    id: Literal["shrunk", "processor", "partly", "failed"]
    text: str
    hint: str


PRINTED_MIB, PRINTED_GIB = 0.01 * 2**20, 0.01 * 2**30
"""Engines round so, and may add a handful of buffers up."""


def predicted(part: Part, card: Card) -> Budget:
    """What was to be said before anybody measured."""
    return budget_on(_unmeasured(part.tenant), card, part.neighbours)


def rows_of(part: Part, card: Card, boot: Boot) -> tuple[Row, ...]:
    """Every number of which either side says something."""
    budget = predicted(part, card)
    rows = _of_vllm(part, card, budget, boot) if boot.engine == "vllm" else _of_llama(
        card, budget, boot)  # fmt: skip
    declared = declared_context(part.tenant)
    context = Row("context of a request", "tokens", declared, declared, boot.context, 255)
    if declared is not None and boot.context is not None and boot.context < declared:
        context = replace(context, exact=0)  # longer by what the engine pads is no difference
    return tuple(row for row in (context, *rows) if (row.low, row.measured) != (None, None))


def rows_alone(boot: Boot) -> tuple[Row, ...]:
    """The same where nobody says what was to be expected."""
    unasked = Budget("unknown", None, ())
    card = Card("", 1, 0, "assumed", "", unified=not any(one.on_card for one in boot.buffers))
    rows = _of_llama(card, unasked, boot) if boot.engine == "llama.cpp" else (
        *_sizes_of_vllm(unasked, boot), *_tokens_of_vllm(None, boot))  # fmt: skip
    context = Row("context of a request", "tokens", None, None, boot.context)
    return tuple(row for row in (context, *rows) if row.measured is not None)


def findings_of(
    boot: Boot, cause: BootFacts, tenant: Tenant | None, card: Card | None
) -> tuple[Finding, ...]:
    """A context that was cut, layers that are not on the card, an engine that did not come up."""
    return tuple(_findings(boot, cause, tenant, card))


def record_of(part: Part, card: Card, payload: str, at: str, boot: Boot) -> BootRecord | None:
    """What to remember of a boot; None where no plan could use it."""
    geometry = geometry_of(part.tenant, card)
    on_card = boot.engine == "vllm" or card.unified or any(one.on_card for one in boot.buffers)
    if geometry is None or not boot.ready or not boot.said_sizes or not on_card:
        return None
    return BootRecord(
        at=at, payload=payload, device=card.name, devices=card.count,
        device_bytes=card.usable_bytes, shape=shape_of(part.tenant, geometry), boot=boot,
    )  # fmt: skip


def _of_llama(card: Card, budget: Budget, boot: Boot) -> Iterator[Row]:
    shared = card.unified
    caches, state = budget.pool_bytes, budget.state_bytes
    yield _same("weights", budget.weights_bytes, boot.of("weights", shared=shared))
    yield _same("caches", caches, boot.of("caches", shared=shared))
    if state or boot.states:
        yield _same("state", state, boot.of("state", shared=shared))
    low, high = budget.overhead_low_bytes, budget.overhead_high_bytes
    if low is not None and high is not None:
        low, high = low - LLAMA_CONTEXT[0], high - LLAMA_CONTEXT[1]
    yield Row("compute buffer", "bytes", low, high, boot.of("compute", shared=shared), PRINTED_MIB)


def _of_vllm(part: Part, card: Card, budget: Budget, boot: Boot) -> Iterator[Row]:
    yield from _sizes_of_vllm(budget, boot)
    geometry = geometry_of(part.tenant, card)
    if geometry is not None and boot.said_sizes:
        record = BootRecord(
            at="", payload="0" * 64, device=card.name, devices=card.count,
            device_bytes=card.usable_bytes, shape=shape_of(part.tenant, geometry), boot=boot,
        )  # fmt: skip
        left = overhead_of(record, shared=card.unified)
        yield Row("overhead", "bytes", budget.overhead_low_bytes, budget.overhead_high_bytes,
                  left[1] if left else None, PRINTED_GIB)  # fmt: skip
    yield from _tokens_of_vllm(_in_that_room(part, card, boot), boot)


def _sizes_of_vllm(budget: Budget, boot: Boot) -> Iterator[Row]:
    yield Row("weights", "bytes", budget.weights_bytes, budget.weights_bytes, boot.weights_bytes,
              PRINTED_GIB)  # fmt: skip
    low, high = _room(budget)
    yield Row("room for caches", "bytes", low, high, boot.available_kv_bytes, PRINTED_GIB)
    yield Row("graphs", "bytes", None, None, boot.graphs_bytes)


def _tokens_of_vllm(budget: Budget | None, boot: Boot) -> Iterator[Row]:
    """Tokens and concurrency as they follow from the room that was printed: geometry alone."""
    tokens = budget.kv_tokens if budget else None
    times = budget.max_concurrency if budget else None
    blocks = budget.num_blocks if budget else None
    block = _rounding(budget, boot)
    if boot.num_blocks is not None:
        yield Row("blocks in that room", "tokens", blocks, blocks, boot.num_blocks,
                  block * (blocks or 0))  # fmt: skip
    yield Row(
        "tokens in that room", "tokens", tokens, tokens, boot.kv_tokens, block * (tokens or 0)
    )
    yield Row("requests at once", "times", times, times, boot.max_concurrency,
              block * (times or 0) + 0.01)  # fmt: skip


def _rounding(budget: Budget | None, boot: Boot) -> float:
    """The room is printed to 0.01 GiB: how much of it that is, and one block."""
    room = boot.available_kv_bytes or 0
    blocks = budget.num_blocks if budget else None
    return PRINTED_GIB / room + 1 / blocks if room > 0 and blocks else 0


def _in_that_room(part: Part, card: Card, boot: Boot) -> Budget | None:
    if not boot.said_sizes:
        return None
    changes = {"available_kv_bytes": boot.available_kv_bytes, "engine_version": boot.version}
    known = {key: value for key, value in changes.items() if value is not None}
    return budget_on(_unmeasured(part.tenant), card, part.neighbours, Wanted(known))


def _room(budget: Budget) -> tuple[float | None, float | None]:
    """The band of the room, from the share, the weights and the band of the overhead."""
    lines = {line.name: line.value for line in budget.why}
    share, weights = lines.get("requested_bytes"), budget.weights_bytes
    low, high = budget.overhead_low_bytes, budget.overhead_high_bytes
    if not isinstance(share, int) or weights is None or low is None or high is None:
        return None, None
    return share - weights - high, share - weights - low


def _same(name: str, expected: int | None, measured: int | None) -> Row:
    return Row(name, "bytes", expected, expected, measured, PRINTED_MIB)


def _unmeasured(tenant: Tenant) -> Tenant:
    return replace(tenant, weights=replace(tenant.weights, boots=())) if tenant.weights else tenant


def _findings(
    boot: Boot, cause: BootFacts, tenant: Tenant | None, card: Card | None
) -> Iterator[Finding]:
    short = shortened(tenant, boot) if tenant else ""
    if not short and boot.shrunk_from is not None:
        short = f"the engine gave up a context of {boot.shrunk_from:,} tokens to come up"
    if short:
        hint = "declare a context that fits: `meshctl budget show` says how long it can be"
        yield Finding("shrunk", short, hint)
    if card is not None and not card.unified and boot.buffers:
        yield from _off_the_card(boot, tenant)
    if not boot.ready:
        text = cause.cause or cause.error or "the log ends before it was ready"
        yield Finding("failed", text, cause.remedy or "`meshctl logs` shows the lines around it")


def _off_the_card(boot: Boot, tenant: Tenant | None) -> Iterator[Finding]:
    on, layers = boot.layers_on_card, boot.layers
    if not any(one.on_card and one.part == "weights" for one in boot.buffers):
        hint = "does the image have a backend for it, and the container the device?"
        yield Finding("processor", "no weights are on the card: the processor serves", hint)
    elif on is not None and layers is not None and on < layers and not _wanted_so(tenant):
        text = f"{layers - on} of {layers} layers are in host memory, and nothing asked for that"
        yield Finding("partly", text, "a shorter context or lighter weights, or `-fit off`")


def _wanted_so(tenant: Tenant | None) -> bool:
    return tenant is not None and bool(tenant.asked.lightened)
