"""Remembers on this machine what files hashed to, so that a question about them reads few of them.

A file counts as the one that was read when path, size and time of change are the same, as for make
and git. Nothing is built on this memory: a build reads every byte again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshctl.outside.folder import Entry

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Digests:
    """A folder with one memory for each name."""

    folder: Path

    def keep(self, name: str, sha256: Mapping[Entry, str]) -> None:
        """Remember these and forget the ones before. Never raises: what is not remembered costs
        only time."""
        rows = {_source(e): [e.bytes, e.mtime_ns, digest] for e, digest in sha256.items()}
        file = self._file(name)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            aside = file.with_suffix(".new")
            aside.write_text(json.dumps(rows), "utf-8")
            aside.replace(file)

    def known(self, name: str, entries: tuple[Entry, ...]) -> dict[str, str]:
        """The sha256 of those that are as they were when they were read, by their paths."""
        rows = self._rows(name)
        found = {entry.path: _digest(rows.get(_source(entry)), entry) for entry in entries}
        return {path: digest for path, digest in found.items() if digest}

    def _rows(self, name: str) -> dict[str, Any]:
        try:
            rows = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return rows if isinstance(rows, dict) else {}

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _source(entry: Entry) -> str:
    return str(entry.source.absolute())


def _digest(row: Any, entry: Entry) -> str:
    """Empty where the row is about another state of the file, or about nothing."""
    if not isinstance(row, list) or row[:2] != [entry.bytes, entry.mtime_ns]:
        return ""
    digest = row[2] if len(row) == 3 else None
    return digest if isinstance(digest, str) and _SHA256.fullmatch(digest) else ""
