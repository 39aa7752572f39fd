"""How the state of services looks in 80 columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.ui.answers import ShareEntry, Status, StatusEntry, TagEntry
from meshctl.ui.render.cost import cost_text, source_lines
from meshctl.ui.render.plan import change_lines
from meshctl.ui.render.text import columns, minute, wrapped, wrapped_facts

_HEAD = ("SERVICE", "TARGET", "STATE", "RELEASE", "SINCE (UTC)")
_WHOLE = "service"
"""The path of a drift that means: the service itself is not there."""


def status_lines(document: Status, width: int) -> list[str]:
    """One row a service, and below it what one row cannot hold."""
    if not document.services:
        return ["no services"]
    table = columns([_HEAD, *(_row(entry) for entry in document.services)])
    lines = table[:1]
    for row, entry in zip(table[1:], document.services, strict=True):
        lines += [row, *_details(entry, width)]
    return [*lines, *source_lines(document.prices, width)]


def _row(entry: StatusEntry) -> tuple[str, ...]:
    mixed = "mixed" if len(entry.serving) > 1 else "?"
    return entry.name, entry.target, entry.state, entry.release or mixed, minute(entry.since)


def _details(entry: StatusEntry, width: int) -> list[str]:
    lines = wrapped_facts(
        [
            ("url", entry.url),
            ("traffic", _traffic(entry)),
            ("asked", _asked(entry)),
            *(("tag", _tag(tag)) for tag in entry.tags),
            ("newest", _newest(entry)),
            ("cost", cost_text(entry.cost) if entry.cost else None),
            ("by", entry.who),
        ],
        width,
    )
    for note in entry.notes:
        lines += wrapped(note, width, "  ! ")
    return lines + _drift(entry, width)


def _drift(entry: StatusEntry, width: int) -> list[str]:
    found = entry.drift or ()  # where it is unknown, a note says so
    drift = [change for change in found if change.path != _WHOLE]
    lines = ["  drift, declared -> real", *change_lines(drift, width)] if drift else []
    if len(drift) < len(found):
        lines += wrapped(f"not deployed: `meshctl deploy {entry.name}`", width, "  ")
    return lines


def _traffic(entry: StatusEntry) -> str:
    """What is in force, and what a revision that somebody makes now would get of it."""
    now = ", ".join(f"{row.revision} {row.percent} %" for row in entry.serving)
    if entry.traffic is None or not now:
        return now
    percent = entry.traffic.new_revision_percent
    return f"{now}; a new revision gets {percent} %" + (" (LATEST)" if percent else "")


def _asked(entry: StatusEntry) -> str | None:
    """Said only when it is not what is in force."""
    if entry.traffic is None or _merged(entry.traffic.desired) == _merged(entry.traffic.effective):
        return None
    rows = sorted(_merged(entry.traffic.desired).items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{name} {percent} %" for name, percent in rows) + ", which is not in force"


def _merged(rows: Sequence[ShareEntry]) -> dict[str, int]:
    """Percent by revision; LATEST only while no revision is ready."""
    shares: dict[str, int] = {}
    for row in rows:
        if row.percent:
            name = row.revision or "LATEST"
            shares[name] = shares.get(name, 0) + row.percent
    return shares


def _tag(tag: TagEntry) -> str:
    return "  ".join(part for part in (tag.tag, tag.url, tag.revision) if part)


def _newest(entry: StatusEntry) -> str | None:
    """Said only when it is news: the newest revision does not serve, or is not ready."""
    newest = entry.newest
    if newest is None or (newest.ready and newest.revision in {r.revision for r in entry.serving}):
        return None
    return f"{newest.revision} ({'ready, gets nothing' if newest.ready else 'not ready'})"
