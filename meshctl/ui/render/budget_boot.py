"""How a measured boot looks: each number predicted and printed, and what went wrong. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.ui.boot import BootRow, BudgetBoot
from meshctl.ui.render.text import columns, wrapped


def budget_boot_lines(document: BudgetBoot, width: int) -> list[str]:
    """The outcome first, then the numbers, then what is to be done."""
    lines = [_head(document), *wrapped(_subject(document), width, "  ")]
    rows = [_row(row) for row in document.rows]
    if rows:
        lines += columns([("PART", "PREDICTED", "MEASURED", "DIFFERENCE"), *rows], indent="  ")
    for one in document.findings:
        lines += wrapped(f"{one.id}: {one.text}", width, "✗ ", "  ")
        lines += wrapped(one.hint, width, "  hint: ")
    return lines + (wrapped(document.note, width, "! ") if document.note else [])


def _head(document: BudgetBoot) -> str:
    outcome = f"✗ {document.findings[0].id}" if document.findings else "✓ booted"
    return f"{outcome}, and remembered for the next plan" if document.recorded else outcome


def _subject(document: BudgetBoot) -> str:
    version = f" {document.engine_version}" if document.engine_version else ""
    names = [name for name in (document.subject, document.model) if name]
    what = ", model ".join(dict.fromkeys(names))
    where = f" on {document.device}" if document.device else ""
    return f"{what or 'a log'}{where}, {document.engine}{version}, from {document.source}"


def _row(row: BootRow) -> tuple[str, str, str, str]:
    low, high = _number(row, row.low), _number(row, row.high)
    predicted = low if row.low == row.high else f"{low} to {high}"
    return (row.name, predicted, _number(row, row.measured), _difference(row))


def _difference(row: BootRow) -> str:
    if row.off is None:
        return ""
    if row.off == 0:
        return "as predicted"
    size = _number(row, abs(row.off))
    return f"{size} more" if row.off > 0 else f"{size} less"


def _number(row: BootRow, value: float | None) -> str:
    if value is None:
        return "-"
    if row.unit == "bytes":
        return show_bytes(round(value)) if value >= 0 else f"-{show_bytes(round(-value))}"
    return f"{value:,.0f}" if row.unit == "tokens" else f"{value:.2f}"
