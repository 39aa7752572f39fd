"""Makes foreign text fit to keep: printable, bounded, and without the token. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from meshctl.secret import Secret

LONGEST_TEXT = 300
"""Characters kept of any text: enough to recognise an error page, too little to be one."""
_ESCAPED = re.compile(r"\\u00([2-7][0-9a-fA-F])")
"""A plain character as JSON may write it: so written, a token would not be recognised."""
_ENOUGH = 100 * LONGEST_TEXT
MOST_ITEMS = 50
"""Entries kept of any list or mapping that came from outside."""
LARGEST_NUMBER = 2**53
"""The largest whole number that every reader of JSON reads alike."""


def presentable(value: Any, token: Secret | None) -> Any:
    """The same value with every text in it cleaned; numbers beyond JSON's become text."""
    if isinstance(value, str):
        return clean(value, token)
    if isinstance(value, Mapping):
        kept = list(value.items())[:MOST_ITEMS]
        return {clean(str(key), token): presentable(item, token) for key, item in kept}
    if isinstance(value, (list, tuple)):
        return [presentable(item, token) for item in value[:MOST_ITEMS]]
    if isinstance(value, float):
        return round(value, 3) if abs(value) < LARGEST_NUMBER else str(value)
    return value if value is None or abs(value) < LARGEST_NUMBER else "a number beyond all use"


def clean(text: str, token: Secret | None) -> str:
    """Without the token first, for a cut could leave half of it; then short and printable."""
    if token:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        text = text.replace(token.reveal(), "***")
    text = "".join(_shown(c) for c in text[:_ENOUGH])
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _shown(character: str) -> str:
    fit = character.isprintable() or character.isspace()
    return character if fit else "\N{REPLACEMENT CHARACTER}"
