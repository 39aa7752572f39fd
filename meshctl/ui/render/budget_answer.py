"""How the rest of a budget looks: models, neighbours, room for contexts, what to give up. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.ui.budget import Budget, NeighbourEntry
from meshctl.ui.render.text import columns, wrapped

_TOLD = {"unknown": "", "unread": "not known: ", "less": "", "more": "", "measured": "",
         "prompts": "", "beyond": ""}  # fmt: skip
"""Lines of the arithmetic that are told whether anybody asks why or not."""


def subject_lines(document: Budget, width: int) -> list[str]:
    """What was asked about, and on which card."""
    device = document.device
    if document.subject is None or device is None:
        return []
    own = document.subject.endswith(document.model or "")  # of a file, its name is the model's
    model = "" if own else f", model {document.model}"
    each = " each" if device.count > 1 else ""
    count = f"{device.count} x " if device.count > 1 else ""
    text = (
        f"{document.subject}{model}, on {count}{device.name}: {show_bytes(device.usable_bytes)}"
        f"{each} ({device.source}: {device.text})"
    )
    lines = wrapped(text, width, "  ")
    for one in document.neighbours:
        lines += wrapped(f"beside it {_neighbour(one)}", width, "  ", "    ")
    if device.reserved_bytes:
        lines.append(f"  reserved of it: {show_bytes(device.reserved_bytes)}")
    return lines


def told_lines(document: Budget, width: int) -> list[str]:
    """What a flag, a header or an engine left open."""
    lines: list[str] = []
    for one in document.why:
        if one.name in _TOLD:
            what = f"{one.value}: " if one.name == "unread" else ""
            sign = "  = " if one.name == "measured" else "  ? "
            lines += wrapped(f"{what}{one.text}", width, sign, "    ")
    return lines


def answer_lines(document: Budget, width: int) -> list[str]:
    """Tables below the numbers; nothing of what is not there."""
    return [*_models(document), *_contexts(document), *_ways(document, width)]


def _neighbour(one: NeighbourEntry) -> str:
    low = show_bytes(one.low_bytes)
    if one.high_bytes is None:
        return f"{one.name}: {low} or more ({one.text})"
    if one.high_bytes == one.low_bytes:
        return f"{one.name}: {low} ({one.text})"
    return f"{one.name}: {low} to {show_bytes(one.high_bytes)} ({one.text})"


def _models(document: Budget) -> list[str]:
    if len(document.models) < 2:
        return []
    rows = [
        (one.name, one.verdict, one.binds or "-", _signed(one.margin_bytes))
        for one in document.models
    ]
    return ["", *columns([("MODEL", "VERDICT", "BINDS", "LEFT OVER"), *rows], indent="  ")]


def _contexts(document: Budget) -> list[str]:
    if not any(row.tight_tokens for row in document.contexts):
        return []
    rows = [
        (str(row.sequences), _tokens(row.fits_tokens), _tokens(row.tight_tokens),
         "all that the model has" if row.whole else "")
        for row in document.contexts
    ]  # fmt: skip
    return ["", *columns([("AT ONCE", "LONGEST THAT FITS", "TIGHT", ""), *rows], indent="  ")]


def _ways(document: Budget, width: int) -> list[str]:
    if not document.ways and not document.larger_card and document.lighter_bytes is None:
        return []
    lines = ["", "  To make it fit, the cheapest for its users first:"]
    for number, way in enumerate(document.ways, 1):
        freed = f", frees {show_bytes(way.frees_bytes)}" if way.frees_bytes else ""
        text = f"`{way.write}`: {way.verdict}{freed}; {way.costs}"
        lines += wrapped(text, width, f"  {number}. ")
    last = len(document.ways)
    if document.lighter_bytes is not None:
        last += 1
        text = f"weights of at most {show_bytes(document.lighter_bytes)} on a device: worse answers"
        lines += wrapped(text, width, f"  {last}. ")
    if document.larger_card:
        lines += wrapped(f"{document.larger_card}: fits; it costs more", width, f"  {last + 1}. ")
    if document.together:
        several = " and ".join(str(number + 1) for number in range(len(document.together)))
        lines.append(f"  {several} together: fits")
    return lines


def _tokens(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _signed(size: int | None) -> str:
    if size is None:
        return "-"
    return show_bytes(size) if size >= 0 else f"-{show_bytes(-size)}"
