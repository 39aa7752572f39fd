"""Columns, wrapped prose, signs and short forms that the renderers share. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

SIGNS = {
    "pass": "✓ pass",
    "fail": "✗ fail",
    "unclear": "? unclear",
    "skipped": "- skipped",
    "done": "✓ done",
    "failed": "✗ failed",
    "started": "… started",
    "undone": "< undone",
    "pending": "  pending",
}
"""A sign and its word, so that neither colour nor the sign alone carries the meaning."""


def sign(word: str) -> str:
    """`pass` -> `✓ pass`, padded so that what follows lines up."""
    return f"{SIGNS.get(word, word):<9}"


def wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Prose in lines of at most `width`; a word that is longer, such as an id, is left whole."""
    lines: list[str] = []
    following = " " * len(first) if rest is None else rest
    for paragraph in text.split("\n") or [""]:
        lines += textwrap.wrap(
            paragraph,
            width,
            initial_indent=first if not lines else following,
            subsequent_indent=following,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines or [first.rstrip()]


def packed(parts: Sequence[str], width: int, indent: str = "") -> list[str]:
    """As many parts in a line as go, two blanks apart; none is broken."""
    lines: list[str] = []
    for part in parts:
        beside = f"{lines[-1]}  {part}" if lines else ""
        if beside and len(beside) <= width:
            lines[-1] = beside
        else:
            lines.append(f"{indent}{part}")
    return lines


def columns(rows: Sequence[Sequence[str]], indent: str = "", gap: int = 2) -> list[str]:
    """Rows with each column as wide as its longest cell; nothing is cut."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        (indent + (" " * gap).join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def facts(pairs: Sequence[tuple[str, str | None]], indent: str = "  ") -> list[str]:
    """`key   value` for every pair that has a value."""
    known = [(key, value) for key, value in pairs if value]
    return columns(known, indent) if known else []


def wrapped_facts(pairs: Sequence[tuple[str, str | None]], width: int) -> list[str]:
    """The same with long values in several lines; a key may come more than once."""
    known = [(key, value) for key, value in pairs if value]
    longest = max((len(key) for key, _ in known), default=0)
    return [line for key, value in known for line in wrapped(value, width, f"  {key:<{longest}}  ")]


_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}\b")


def short(text: str) -> str:
    """Digests cut to 12 digits: `@sha256:0123456789ab…`."""
    return _DIGEST.sub(r"\1…", text)


def apart(old: str, new: str) -> tuple[str, str]:
    """Both cut like that; digests that begin alike show the first digits that differ, too."""
    if old == new or short(old) != short(new):
        return short(old), short(new)
    at = next(n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    return _cut_around(old, at), _cut_around(new, at)


def _cut_around(text: str, at: int) -> str:
    """Cut, but for eight digits from `at` on, which lies in what is cut of some digest."""

    def cut(found: re.Match[str]) -> str:
        if not found.end(1) <= at < found.end():
            return f"{found[1]}…"
        end = min(at + 8, found.end())
        gap = "" if at == found.end(1) else "…"
        return f"{found[1]}{gap}{text[at:end]}" + ("" if end == found.end() else "…")

    return _DIGEST.sub(cut, text)


def says(text: str, place: str) -> bool:
    """Whether a text says this place already, as a word of its own."""
    return re.search(rf"(?<![\w/.-]){re.escape(place)}(?![\w/-])", text) is not None


def minute(at: str | None) -> str:
    """`2026-11-30T20:45:12.345678Z` -> `2026-11-30 20:45`; unknown is `?`."""
    return at[:16].replace("T", " ") if at else "?"


def second(at: str) -> str:
    """`2026-11-30T20:45:12.345678Z` -> `20:45:12`."""
    return at[11:19]
