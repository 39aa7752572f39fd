"""How a budget looks: verdict, bar, numbers, and with --why the arithmetic. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.ui.budget import Budget, Reason
from meshctl.ui.render.budget_answer import answer_lines, subject_lines, told_lines
from meshctl.ui.render.text import columns, wrapped

_SIGNS = {"fits": "✓ fits", "tight": "! tight", "no": "✗ no", "unknown": "? unknown"}
_LETTERS = {"weights": "W", "caches": "K", "state": "S", "overhead": "o", "free": ".",
            "others": "N"}  # fmt: skip
_BAR_INDENT = 4


def budget_lines(document: Budget, width: int) -> list[str]:
    """The verdict first."""
    lines = [verdict_line(document), *subject_lines(document, width)]
    lines += _bar(document, width)
    lines += columns([row for row in _rows(document) if row[1]], indent="  ")
    caches = [(c.name, str(c.layers), f"{c.cells:,}", show_bytes(c.bytes))
              for c in document.kv_caches or ()]  # fmt: skip
    if caches:
        lines += columns([("CACHE", "LAYERS", "CELLS", "BYTES"), *caches], indent="  ")
    lines += [*told_lines(document, width), *answer_lines(document, width)]
    if document.explain:
        return [*lines, "", *(line for one in document.why for line in _reason(one, width))]
    unknown = document.verdict == "unknown" and document.binds == "model"
    why = [one.text for one in document.why if one.name == "model"] if unknown else []
    lines += [line for text in why for line in wrapped(text, width, "  ")]
    refused = [one.text for one in document.why if one.name == "refused"]
    return lines + [line for text in refused for line in wrapped(text, width, "  ")]


def verdict_line(document: Budget) -> str:
    """The sign, the word, and what decided."""
    sign = _SIGNS[document.verdict]
    return f"{sign}: {document.binds} binds" if document.binds else sign


def _bar(document: Budget, width: int) -> list[str]:
    """One letter for each part of the device, as long as its share; nothing where it is unknown."""
    usable, parts = document.usable_bytes, parts_of(document)
    if usable is None or not parts:
        return []
    used = sum(size for _, size in parts)
    parts += [("free", max(0, usable - used))]
    whole, cells = max(usable, used), max(20, width - _BAR_INDENT - 2)
    ends, bar = 0, ""
    for name, size in parts:
        ends += size
        bar += _LETTERS[name] * (round(cells * ends / whole) - len(bar))
    legend = [f"{_LETTERS[name]} {name} {show_bytes(size)}" for name, size in parts if size]
    over = [f"  {show_bytes(used - usable)} more than the device has"] if used > usable else []
    return [f"  [{bar}]", *_side_by_side(legend, width), *over]


def _side_by_side(words: list[str], width: int) -> list[str]:
    """As many in a line as go; none is broken."""
    lines = [""]
    for word in words:
        if lines[-1] and len(f"{lines[-1]}  {word}") > width:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else '   '}{word}"
    return lines


def parts_of(document: Budget) -> list[tuple[str, int]]:
    """Only when every part is known, for a bar with a hole would lie."""
    known = (document.weights_bytes, document.pool_bytes, document.overhead_high_bytes)
    if None in known:
        return []
    weights, pool, overhead = (size or 0 for size in known)
    return [("others", document.others_bytes or 0), ("weights", weights), ("caches", pool),
            ("state", document.state_bytes or 0), ("overhead", overhead)]  # fmt: skip


def _rows(document: Budget) -> list[tuple[str, str]]:
    low, high = document.overhead_low_bytes, document.overhead_high_bytes
    band = f"{show_bytes(low)} to {show_bytes(high)}" if low is not None and high else ""
    concurrency = document.max_concurrency
    per_token = document.kv_bytes_per_token
    return [
        ("a token", "" if per_token is None else f"{per_token:,.6g} bytes"),
        ("a block", _block(document)),
        ("blocks", _count(document.num_blocks)),
        ("tokens", _count(document.kv_tokens)),
        ("requests at once", "" if concurrency is None else f"{concurrency:.2f} of full length"),
        ("state a sequence", _size(document.state_bytes_per_sequence)),
        ("overhead", band),
        ("device", _size(document.usable_bytes)),
        ("left over", "0 B" if document.margin_bytes == 0 else _size(document.margin_bytes)),
    ]


def _block(document: Budget) -> str:
    if document.block_tokens is None or document.bytes_per_block is None:
        return ""
    return f"{document.block_tokens:,} tokens, {show_bytes(document.bytes_per_block)}"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _size(value: int | None) -> str:
    if not value:
        return ""
    return show_bytes(value) if value > 0 else f"-{show_bytes(-value)}"


def _reason(one: Reason, width: int) -> list[str]:
    told = "" if one.value is None else f" = {_value(one.value)}"
    return wrapped(f"{one.name}{told} ({one.source}) {one.text}".rstrip(), width, "  ", "      ")


def _value(value: int | float | str | bool) -> str:
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
