"""How the mistakes of a fleet file look. Pure."""

from __future__ import annotations

from meshctl.ui.documents import ErrorEntry, Validate
from meshctl.ui.render.text import wrapped


def validate_lines(document: Validate, width: int) -> list[str]:
    """`file:line:column  path: message`, its hint below, and how many there are."""
    if not document.errors:
        unwise = [line for one in document.warnings for line in _mistake(one, width, "warning: ")]
        return [*unwise, "✓ the fleet file is valid"]
    lines = [line for error in document.errors for line in _mistake(error, width)]
    count = len(document.errors)
    return [*lines, f"✗ {count} mistake{'s' if count > 1 else ''}"]


def _mistake(error: ErrorEntry, width: int, word: str = "") -> list[str]:
    what = f"{error.path}: {error.message}" if error.path else error.message
    lines = wrapped(f"{word}{what}", width, f"{error.place}  ", "    ")
    return lines + (wrapped(error.hint, width, "    hint: ") if error.hint else [])
