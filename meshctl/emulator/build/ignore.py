"""The .dockerignore file: which paths of a context do not exist for COPY."""

from __future__ import annotations

import re
from pathlib import Path


class Ignored:
    """Patterns in order; the last that matches decides, `!` brings a path back."""

    def __init__(self, lines: list[str]) -> None:
        self._rules: list[tuple[bool, re.Pattern[str]]] = []
        for raw in lines:
            line = raw.strip()
            if line and not line.startswith("#"):
                keep = line.startswith("!")
                self._rules.append((keep, _pattern(line.removeprefix("!").strip("/"))))

    def __call__(self, path: str) -> bool:
        """Whether a path (relative to the context) is left out."""
        left_out = False
        for keep, pattern in self._rules:
            if pattern.match(path):
                left_out = not keep
        return left_out


def _pattern(text: str) -> re.Pattern[str]:
    out = re.escape(text).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    out = out.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.compile(out + r"(?:/.*)?$")


def read(context: Path) -> Ignored:
    """The context's .dockerignore, or nothing ignored."""
    file = context / ".dockerignore"
    return Ignored(file.read_text().splitlines() if file.is_file() else [])
