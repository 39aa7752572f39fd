"""A reading of the outside: known, or unknown with the reason and what was said instead. Pure.

There is no zero for "not read": an empty card and an unread one must not look alike.
"""

from __future__ import annotations

import json
import re
from typing import Any, Generic, TypeVar

from pydantic import Field

from meshctl.engines.masking import masked
from meshctl.spec.model import Frozen

T = TypeVar("T")
LONGEST_RAW = 300
"""Characters kept of what a tool said."""
_MOST_TRIED = 3
"""Lines that may be the first of the JSON: a warning such as `[WARNING] ...` looks like it."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Unknown(Frozen):
    """Not read, and why; `raw` is what was said, shown with -v."""

    reason: str
    raw: str = ""


class Known(Frozen, Generic[T]):
    """A value that was read and contradicts nothing."""

    value: T
    source: str = Field(default="", description="the tool or file that said so")


def unknown(reason: str, raw: str = "") -> Unknown:
    return Unknown(reason=shown(reason), raw=shown(raw))


def shown(text: str, longest: int = LONGEST_RAW) -> str:
    """One line without control characters (they can rewrite a terminal) and without secrets."""
    return _CONTROL.sub(" ", masked(text[: 2 * longest])).strip()[:longest]


def count(text: object) -> int | None:
    """A plain whole number from 0 that fits in 63 bits, else None; true is none."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text if 0 <= text < 2**63 else None
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        return None
    return int(text)


def parsed(text: str) -> Any:
    """The JSON in it, after whatever warnings stand before; None where there is none."""
    for match in list(re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE))[:_MOST_TRIED]:
        try:
            return json.loads(text[match.start() :])
        except (ValueError, RecursionError):  # too deep or too long a number is no answer either
            continue
    return None


def objects(found: object) -> list[dict[str, Any]]:
    """The objects of a JSON list; anything else is none."""
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def word(of: dict[str, Any], key: str) -> str:
    """A text of a JSON object, made safe; empty where it is none."""
    found = of.get(key)
    return shown(found) if isinstance(found, str) else ""
