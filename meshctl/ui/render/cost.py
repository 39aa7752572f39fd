"""How costs look: in a plan, in a status, and as a table over the fleet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from meshctl.plan.warmth import usd
from meshctl.ui.costs import Amount, CostChangeEntry, CostEntry, PriceSource, WarmEntry
from meshctl.ui.render.text import columns, wrapped
from meshctl.ui.upkeep import Cost, ServiceCost

_HEAD = ("SERVICE", "TARGET", "IDLE USD/H", "A MONTH", "FULL USD/H", "A MONTH")


def cost_text(cost: CostEntry) -> str:
    """`idle USD 0.00/h (0 a month), full USD 1.42/h (1,037 a month)`, then what is kept warm."""
    idle, full = _sum(cost.idle), _sum(cost.full)
    parts = [f"{idle}, idle and full" if idle == full else f"idle {idle}, full {full}"]
    parts += [f"plus {_sum(warm)} for {warm.revision}" for warm in cost.warm]
    return ", ".join(parts) + (" (a price is assumed)" if cost.assumed else "")


def change_lines(change: CostChangeEntry, width: int, indent: str = "    ") -> list[str]:
    """The cost once the plan is carried out, and what it is now where that differs."""
    before, after = change.before, change.after
    if before == after:
        return wrapped(cost_text(after), width, indent) if after else []
    now = cost_text(before) if before else "nothing, it does not exist"
    then = cost_text(after) if after else "nothing, it will be gone"
    return [*wrapped(now, width, f"{indent}now   "), *wrapped(then, width, f"{indent}then  ")]


def source_lines(prices: Sequence[PriceSource], width: int) -> list[str]:
    """When the prices held and who says so."""
    return [
        line
        for one in prices
        for line in wrapped(f"prices of {one.as_of}: {one.source}", width, "", "  ")
    ]


def cost_lines(document: Cost, width: int) -> list[str]:
    """One row a service, below it what keeps candidates warm, then the whole fleet."""
    if not document.services:
        return ["no services"]
    some_warm = any(entry.cost and entry.cost.warm for entry in document.services)
    rows = [_row(entry.name, entry.target, entry.cost) for entry in document.services]
    whole = ("total, warm included" if some_warm else "total", "")
    head, *table = columns([_HEAD, *rows, (*whole, *_cells(document.idle), *_cells(document.full))])
    lines, shared = [head], _shared(document)
    for row, entry in zip(table, document.services, strict=False):
        lines += [row, *_below(entry, shared, width)]
    below = _said_once(document, shared, width)
    return [*lines, table[-1], *below, *source_lines(document.prices, width)]


def _shared(document: Cost) -> list[str]:
    """What would be said below more than one service, each once."""
    said = Counter(note for entry in document.services for note in entry.notes)
    return [note for note, count in said.items() if count > 1]


def _said_once(document: Cost, shared: Sequence[str], width: int) -> list[str]:
    """`! chat, small: not deployed`."""
    lines: list[str] = []
    for note in shared:
        names = dict.fromkeys(entry.name for entry in document.services if note in entry.notes)
        lines += wrapped(f"{', '.join(names)}: {note}", width, "! ")
    return lines


def _row(name: str, target: str, cost: CostEntry | None) -> tuple[str, ...]:
    if cost is None:
        return name, target, "-", "-", "-", "-"
    return name, target, *_cells(cost.idle), *_cells(cost.full)


def _cells(one: Amount) -> tuple[str, str]:
    if one.usd_per_hour is None or one.usd_per_month is None:
        return "unknown", "unknown"
    return f"{one.usd_per_hour:,.2f}", f"{one.usd_per_month:,.0f}"


def _below(entry: ServiceCost, shared: Sequence[str], width: int) -> list[str]:
    warm = entry.cost.warm if entry.cost else ()
    notes = [f"plus {_sum(one)} for {one.revision}{_tags(one)}" for one in warm]
    notes += ["a price is assumed"] if entry.cost and entry.cost.assumed else []
    notes += [note for note in entry.notes if note not in shared]
    return [line for note in notes for line in wrapped(note, width, "  ! ")]


def _tags(one: WarmEntry) -> str:
    return f" (tag {', '.join(one.tags)})" if one.tags else ""


def _sum(one: Amount | WarmEntry) -> str:
    return "unknown" if one.usd_per_hour is None else usd(one.usd_per_hour)
