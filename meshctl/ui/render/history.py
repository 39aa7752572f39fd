"""How the releases of a service look, the newest first. Pure."""

from __future__ import annotations

from meshctl.ui.answers import History, HistoryEntry
from meshctl.ui.render.text import SIGNS, columns, minute, packed, wrapped

_HEAD = ("", "RELEASE", "VERB", "AT (UTC)", "VERDICT", "COMMIT")
_INDENT = " " * 10
UNKNOWN, NO_RUN = "?", "-"
_MEANING = {UNKNOWN: "none was recorded", NO_RUN: "known by no run"}
_LONGEST = 8
"""Releases in the way back; who needs more of it reads the rows."""


def history_lines(document: History, width: int) -> list[str]:
    """One row a release, and below it the run that placed it, as `explain` takes it.

    The first column says which serves and where a rollback would go. What the marks of the last
    one mean is said below, where there are any.
    """
    notes = [line for note in document.notes for line in wrapped(f"note: {note}", width)]
    if not document.releases:
        return ["no releases yet", *notes]
    table = columns([_HEAD, *(_row(entry) for entry in document.releases)])
    lines = table[:1]
    for row, entry in zip(table[1:], document.releases, strict=True):
        lines += [row, *_below(entry, width)]
    return [*lines, *_chain(document, width), *_marks(document, width), *notes]


def _chain(document: History, width: int) -> list[str]:
    """`way back: v7 <- v6 <- v5`: from what serves to where each rollback would lead."""
    if not document.chain:
        return []
    shown = document.chain[:_LONGEST]
    more = " <- …" if len(document.chain) > len(shown) else ""
    way = " <- ".join(shown) if len(shown) > 1 else f"{shown[0]}, and nothing before it"
    return wrapped(f"way back: {way}{more}", width, "", _INDENT)


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    return (
        f"{'serving' if entry.serving else 'rollback' if entry.rollback_to else '':<8}",
        entry.release,
        entry.verb or "-",
        minute(entry.at),
        SIGNS[entry.verdict] if entry.verdict else entry.ended or "unproven",
        _commit(entry) + ("*" if entry.dirty else ""),
    )


def _commit(entry: HistoryEntry) -> str:
    return (entry.commit or (UNKNOWN if entry.run else NO_RUN))[:8]


def _marks(document: History, width: int) -> list[str]:
    """What stands in the column of the commits beside a commit."""
    commits = {_commit(entry) for entry in document.releases}
    found = [f"{mark} {meaning}" for mark, meaning in _MEANING.items() if mark in commits]
    if any(entry.dirty for entry in document.releases):
        found.append("* had changes beside it")
    return wrapped(f"commit: {', '.join(found)}", width, rest=_INDENT) if found else []


def _below(entry: HistoryEntry, width: int) -> list[str]:
    """The revision only where its name does not say it: those meshctl makes carry the release."""
    strange = entry.revision is not None and entry.release not in entry.revision
    parts = [
        f"revision {entry.revision}" if strange else "",
        f"run {entry.run}" if entry.run else "",
        f"by {entry.who}" if entry.who else "",
    ]
    return packed([part for part in parts if part], width, _INDENT)
