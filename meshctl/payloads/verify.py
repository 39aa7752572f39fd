"""Reads files whole and says whether they are what the fleet or their manifest says they are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from meshctl.errors import MeshctlError
from meshctl.outside.proving import sha256_of, size_of
from meshctl.outside.ranges import DiskFolder, Missing
from meshctl.outside.several import several
from meshctl.payloads.inspect import NOT_PROVED, Wish, inspect
from meshctl.payloads.split import Part, part_of
from meshctl.payloads.wanted import Tell, silent

Verdict = Literal["pass", "fail", "unclear"]
MOST_AT_ONCE = 8
"""Files read at the same time: more do not make a disk faster."""
NOT_OF_THE_SET = ("label", "unknown-type")
"""Problems of a model that do not say that its parts do not belong together."""


@dataclass(frozen=True)
class Declared:
    """One file and what its bytes must be; None where nobody says. `by` says who does, `source` is
    whence it can be fetched again; of a payload of the fleet `name` is its file there."""

    path: Path
    bytes: int | None
    sha256: str | None
    by: str
    source: str = ""
    payload: str | None = None
    name: str = ""


@dataclass(frozen=True)
class Proof:
    """What one file was found to be. `why` is empty for what passes."""

    declared: Declared
    verdict: Verdict
    bytes: int | None = None
    sha256: str | None = None
    why: str = ""
    repaired: bool = False
    missing: bool = False


@dataclass(frozen=True)
class SetProof:
    """Whether the parts of one model are a set, by their headers."""

    path: Path
    verdict: Verdict
    problems: tuple[str, ...]


def prove(wanted: Sequence[Declared], tell: Tell = silent) -> list[Proof]:
    """Each file read whole, as many at a time as there are processors, in their order.

    Nothing that is wrong with one of them hides the others. `tell` hears of bytes read of all bytes
    there are to read, and may raise to stop.
    """
    told = _Told(tell, sum(_bytes_to_read(one) for one in wanted))
    return several(lambda one: _prove(one, told.add), wanted, at_once())


def at_once() -> int:
    """How many files are read at the same time."""
    return min(MOST_AT_ONCE, os.cpu_count() or 1)


class _Told:
    """Adds up what several threads have read."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done, self._guard = tell, total, 0, threading.Lock()

    def add(self, count: int) -> None:
        with self._guard:
            self._done += count
            self._tell("proving", self._done, self._total)


def _bytes_to_read(one: Declared) -> int:
    try:
        size = size_of(one.path)
    except MeshctlError:
        return 0
    return size if one.bytes in (None, size) else 0


def _prove(one: Declared, tell: Callable[[int], None]) -> Proof:
    """A file of another size is not read: no hash could make it right."""
    try:
        size = size_of(one.path)
        if one.bytes not in (None, size):
            return Proof(one, "fail", size, why=f"it has {size:,} bytes, not {one.bytes:,}")
        found = sha256_of(one.path, tell)
    except Missing as error:
        return Proof(one, "fail", why=error.message, missing=True)
    except MeshctlError as error:
        return Proof(one, "unclear", why=error.message)
    if one.sha256 is None:
        return Proof(one, "unclear", size, found, why="nothing says what it must be")
    if found != one.sha256:
        return Proof(one, "fail", size, found, why=f"its sha256 is {found}")
    return Proof(one, "pass", size, found)


def prove_sets(paths: Iterable[Path]) -> list[SetProof]:
    """Each model in several files that one of these is a part of, by the headers of all parts."""
    return [_prove_set(folder, part) for folder, part in _sets(paths)]


def _sets(paths: Iterable[Path]) -> Iterator[tuple[Path, Part]]:
    """The first file that is there stands for its set; where none is, there is nothing to read."""
    seen: set[tuple[Path, str, int, str]] = set()
    for path in sorted(paths):
        part = part_of(path.name)
        if part is None or part.count < 2 or not path.exists():
            continue
        key = (path.parent, part.prefix, part.count, part.ending)
        if key not in seen:
            seen.add(key)
            yield path.parent, part


def _prove_set(folder: Path, part: Part) -> SetProof:
    name = part.name(part.index)
    try:
        found = inspect(DiskFolder(folder), name, Wish()).problems
    except MeshctlError as error:
        return SetProof(folder / name, "unclear", (error.message,))
    wrong = [one for one in found if one.id not in NOT_OF_THE_SET]
    ids = {one.id for one in wrong}
    verdict: Verdict = "pass" if not ids else "unclear" if ids <= set(NOT_PROVED) else "fail"
    return SetProof(folder / name, verdict, tuple(f"{one.id}: {one.message}" for one in wrong))


def repaired(proof: Proof, bytes: int, sha256: str) -> Proof:
    """The same file after the right bytes were put in its place."""
    return replace(
        proof, verdict="pass", bytes=bytes, sha256=sha256, why="", repaired=True, missing=False
    )
