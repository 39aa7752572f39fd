"""How a scene looks in a terminal of 80 columns: a title, a command, the lines that tell. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from meshctl.quantities import show_seconds
from meshctl.ui.render.text import wrapped

WIDTH = 80
MOST_LINES = 20
MOST_ROWS = 3
"""Of one line that is too long; what is cut off is in `meshctl explain`."""
DEEP = " " * 4
TELLING = re.compile(r"\d\d-\w+  .* … |[✓✗?!$] |error:|  (at|hint): ")
"""Lines that say what came of it: each step as it ended, the result, an error and its hint."""
ALL = re.compile(r"")
FACT = re.compile(r"  \S+( \S+)?  ")
"""`  revision  chat-1`: what follows a result without being a part of its sentence."""


def title(number: int, name: str) -> str:
    """A line across the terminal."""
    return f"-- {number}. {name} ".ljust(WIDTH, "-")


def prompt(command: str) -> list[str]:
    """The command behind its prompt; a long one goes on after a backslash, ready to be copied."""
    lines, line = [], "$"
    for word in map(shlex.quote, shlex.split(command)):
        if len(line) + len(word) + 3 > WIDTH and line.strip() != "$":
            lines.append(f"{line} \\")
            line = f"{DEEP}{word}"
        else:
            line = f"{line} {word}"
    return [*lines, line]


def shown(lines: Iterable[str], telling: re.Pattern[str]) -> list[str]:
    """The telling lines and what they go on with; only the last ones when there are many."""
    told = [part for line in _chosen(lines, telling) for part in fold(line)]
    left_out = len(told) - MOST_LINES
    return [f"(… {left_out} lines)", *told[left_out:]] if left_out > 0 else told


def _chosen(lines: Iterable[str], telling: re.Pattern[str]) -> Iterable[str]:
    goes_on = False
    for line in lines:
        sentence = line.startswith("  ") and not FACT.match(line)
        goes_on = bool(telling.match(line)) or (goes_on and sentence)
        if goes_on and line.strip():
            yield line


def fold(line: str) -> list[str]:
    """A line that is too long goes on four columns further in; one with a long id is left whole."""
    if len(line) <= WIDTH or max(map(len, line.split())) > WIDTH // 2:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    rows = wrapped(line.strip(), WIDTH - 2, indent, indent + DEEP)
    return rows if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS - 1], f"{rows[MOST_ROWS - 1]} …"]


def outcome(code: int, expected: int, seconds: float) -> str:
    """Whether the exit code is the one that was promised."""
    took = show_seconds(seconds)
    if code == expected:
        return f"✓ exit code {code}, as it should be ({took})"
    return f"✗ exit code {code} instead of {expected} ({took})"
