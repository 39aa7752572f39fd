"""Reads a log of any size and form into a diagnosis. Pure.

A log is bytes that nobody vouches for: they are read in pieces, lines are cut, what is no UTF-8 is
marked. An export of Cloud Logging is one JSON value, usually the newest first, and is read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from meshctl.engines.diagnosis import Diagnosis
from meshctl.observe.logs import Line, lines_of

LONGEST_LINE = 65_536
"""Bytes kept of a line: what an engine says fits in 16 KB, and JSON may escape it."""
LARGEST_EXPORT = 64 * 1024 * 1024
"""Bytes of a log that is one JSON value; a larger one is read line by line, as it stands."""
_EXPORT = re.compile(rb"\s*(\[\s*[{\]]|\{\s*(\n|\Z))")
_ENDS = re.compile(rb"[\r\n]")


def diagnose_bytes(chunks: Iterable[bytes]) -> Diagnosis:
    """What a log shows that comes in pieces of any size."""
    pieces = iter(chunks)
    first = next(pieces, b"")
    pieces = chain([first], pieces)
    if _EXPORT.match(first[:4096]):
        whole, pieces = _up_to(pieces, LARGEST_EXPORT)
        entries = _entries(whole)
        if entries is not None:
            return diagnose_lines(lines_of(entries))
    diagnosis = Diagnosis()
    for number, text in _lines(pieces):
        diagnosis.read(text, number)
    return diagnosis


def diagnose_lines(lines: Sequence[Line]) -> Diagnosis:
    """What entries of Cloud Logging show, the oldest first; the number is that of the entry."""
    diagnosis = Diagnosis()
    for number, line in enumerate(lines, 1):
        for part in line.text.split("\n"):
            diagnosis.read(part, number, line.revision)
    return diagnosis


def _up_to(pieces: Iterator[bytes], most: int) -> tuple[bytes, Iterator[bytes]]:
    """The beginning, as one piece, and everything again to be read in pieces."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size > most:
            return b"", chain(held, pieces)
    return b"".join(held), iter(held)


def _entries(whole: bytes) -> list[dict[str, Any]] | None:
    """The entries of an export, or of what `meshctl logs -o json` printed; None: it is neither."""
    try:
        value = json.loads(whole)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        rows = value.get("lines", value.get("entries"))
        value = rows if isinstance(rows, list) else [value]
    rows = value if isinstance(value, list) else []
    return [_entry(row) for row in rows if isinstance(row, dict)]


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    """A line of `logs/v1` as an entry; an entry as it is."""
    if "text" not in row or "at" not in row:
        return row
    labels = {"revision_name": row.get("revision")}
    return {"textPayload": row["text"], "timestamp": row["at"], "resource": {"labels": labels}}


def _lines(pieces: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, each cut at LONGEST_LINE. A progress bar writes over its own line,
    and each time is told apart, under one number."""
    number, rest, cut = 1, b"", False
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if not cut:
                yield from _texts(number, line)
            number, cut = number + 1, False
        if len(rest) > LONGEST_LINE:
            if not cut:
                yield from _texts(number, rest)
            rest, cut = b"", True
        elif cut:
            rest = b""
    if rest:
        yield from _texts(number, rest)


def _texts(number: int, line: bytes) -> Iterator[tuple[int, str]]:
    line = line[:LONGEST_LINE]
    parts = _ENDS.split(line) if b"\r" in line else [line]
    return ((number, part.decode(errors="replace")) for part in parts if part)
