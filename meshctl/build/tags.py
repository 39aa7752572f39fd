"""Reads the numbers that tags already carry, and writes the next one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

NUMBER = "{n}"
_DIGITS = r"([1-9][0-9]{0,5})"
"""As many as a record's key has; a date in a tag of somebody's own is no count of builds."""


def tag_of(pattern: str, number: int) -> str:
    """`mesh-v{n}`, 7 -> `mesh-v7`."""
    return pattern.replace(NUMBER, str(number))


def highest(pattern: str, repository: str, builds: Iterable[dict[str, Any]]) -> int:
    """The highest number that a build of the cloud's list pushed, or means to push; 0 for none."""
    before, _, after = pattern.partition(NUMBER)
    form = re.compile(re.escape(f"{repository}:{before}") + _DIGITS + re.escape(after))
    matches = (form.fullmatch(name) for build in builds for name in _names(build))
    return max((int(match[1]) for match in matches if match), default=0)


def _names(build: dict[str, Any]) -> Iterator[str]:
    """Every image a build names, with its substitutions in place or beside it."""
    yield from build.get("images", [])
    yield from (image.get("name", "") for image in build.get("results", {}).get("images", []))
    yield from build.get("substitutions", {}).values()
