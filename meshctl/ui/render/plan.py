"""How a plan looks: what changes, the steps, the way back, and why it is refused. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.quantities import show_seconds
from meshctl.ui.documents import ChangeEntry, Plan, PlanEntry
from meshctl.ui.render.cost import change_lines as cost_change_lines
from meshctl.ui.render.cost import source_lines
from meshctl.ui.render.text import apart, says, short, wrapped


def plan_lines(document: Plan, width: int) -> list[str]:
    """One block for each service and target."""
    blocks = [_service(entry, width) for entry in document.services]
    lines = [line for block in blocks for line in (*block, "")]
    return [*lines, *source_lines(document.prices, width)] if document.prices else lines[:-1]


def _service(entry: PlanEntry, width: int) -> list[str]:
    lines = [_heading(entry)]
    lines += _changes(entry, width)
    lines += _section("steps", _steps(entry, width))
    lines += _section("the way back, from the step that failed upwards", _way_back(entry, width))
    lines += _section("refused", _refusals(entry, width))
    lines += _section("cost", cost_change_lines(entry.cost, width) if entry.cost else [])
    lines += _section("note", _notes(entry, width))
    return lines


def _notes(entry: PlanEntry, width: int) -> list[str]:
    """Further lines of a note hang, for there may be several."""
    return [line for note in entry.notes for line in wrapped(note, width, "    ", "      ")]


def _heading(entry: PlanEntry) -> str:
    where = f"{entry.name} on {entry.target}"
    if entry.refused:
        return f"{where}: ✗ refused"
    if not entry.steps:
        return f"{where}: ✓ up to date"
    return f"{where}: {entry.verb} {_releases(entry)}({entry.strategy}, {_outage(entry)})"


def _outage(entry: PlanEntry) -> str:
    if entry.outage_s is None:
        return "with an outage"
    return f"outage about {show_seconds(entry.outage_s)}" if entry.outage_s else "no outage"


def _releases(entry: PlanEntry) -> str:
    if entry.from_release == entry.to_release or not entry.to_release:
        return ""
    if not entry.from_release:
        return f"{entry.to_release} for the first time "
    return f"{entry.from_release} -> {entry.to_release} "


def _changes(entry: PlanEntry, width: int) -> list[str]:
    """What differs; of a first release, what is declared, without what is the same for all."""
    if entry.from_release:
        return _section("changes", change_lines(entry.changes, width))
    declared = [c for c in entry.changes if not c.path.startswith(("platform.", "probe."))]
    longest = max((len(change.path) for change in declared if len(change.path) < 30), default=0)
    lines: list[str] = []
    for change in declared:
        row = f"    {change.path:<{longest}}  {_value(change.to)}"
        beside = len(row) <= width
        lines += [row] if beside else [f"    {change.path}", f"      {_value(change.to)}"]
    return _section("declared", lines)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}", *lines] if lines else []


def change_lines(changes: Sequence[ChangeEntry], width: int, indent: str = "    ") -> list[str]:
    """`path  old -> new`, or old and new below the path where that would be too long."""
    longest = max((len(change.path) for change in changes), default=0)
    lines: list[str] = []
    for change in changes:
        old, new = values(change.from_, change.to)
        line = f"{indent}{change.path:<{longest}}  {old} -> {new}"
        if len(line) <= width:
            lines.append(line)
        else:
            lines += [f"{indent}{change.path}", f"{indent}  - {old}", f"{indent}  + {new}"]
    return lines


def values(old: str | None, new: str | None) -> tuple[str, str]:
    """Both as they are shown beside each other: what differs never looks alike."""
    if not old or not new:
        return _value(old), _value(new)
    return apart(old, new)


def _value(value: str | None) -> str:
    """Absent and empty must not look alike."""
    return "(none)" if value is None else short(value) or '""'


def _steps(entry: PlanEntry, width: int) -> list[str]:
    longest = max((len(step.id) for step in entry.steps), default=0)
    return [
        line
        for step in entry.steps
        for line in wrapped(short(step.text), width, f"    {step.id:<{longest}}  ")
    ]


def _way_back(entry: PlanEntry, width: int) -> list[str]:
    undone = [step for step in reversed(entry.steps) if step.undo]
    longest = max((len(step.id) for step in entry.steps), default=0)
    return [
        line
        for step in undone
        for line in wrapped(short(step.undo), width, f"    {step.id:<{longest}}  ")
    ]


def _refusals(entry: PlanEntry, width: int) -> list[str]:
    lines: list[str] = []
    for reason in entry.refused:
        lines += wrapped(reason.message, width, "    ✗ ")
        if reason.place and not says(reason.message, reason.place):
            lines.append(f"      at:   {reason.place}")
        lines += wrapped(reason.hint, width, "      hint: ") if reason.hint else []
    return lines
