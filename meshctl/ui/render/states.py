"""How a state looks: where it is, what is in it, who holds what, and what is wrong. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.ui.render.text import facts, minute, wrapped
from meshctl.ui.states import Migration, State, StateLock


def state_lines(document: State, width: int) -> list[str]:
    """The facts, every lock that is not free, and every problem with its hint."""
    wrong = len(document.problems)
    head = f"✗ {document.place}: {wrong} wrong" if wrong else f"✓ {document.place}: nothing wrong"
    lines = [head, *_facts(document)]
    for lock in document.locks:
        lines += ["", *wrapped(_lock(lock), width, rest="  ")]
    for problem in document.problems:
        lines += ["", *wrapped(f"✗ {problem.place}: {problem.message}", width, rest="  ")]
        lines += wrapped(problem.hint, width, first="  → ")
    return lines


def _facts(document: State) -> list[str]:
    conditions = f"kept, proved {minute(document.proved)} UTC" if document.proved else None
    return facts(
        [
            ("endpoint", document.endpoint),
            ("conditions", conditions),
            ("services", str(document.services)),
            ("runs", f"{document.runs}, in {document.events} events"),
            ("builds", str(document.builds)),
            ("size", show_bytes(document.bytes)),
        ]
    )


def _lock(lock: StateLock) -> str:
    name = f"{lock.site}/{lock.service}"
    if lock.state == "unreadable":
        return f"{name} is locked, and nobody can read by whom"
    return f"{name} is {lock.state} by {lock.who} since {minute(lock.since)} UTC: {lock.what}"


def migration_lines(document: Migration) -> list[str]:
    """What was moved, or that nothing had to be."""
    if not document.runs and not document.locks:
        return [f"✓ {document.place}: everything is where it belongs"]
    counted = f"{len(document.runs)} runs ({document.events} events), {len(document.locks)} locks"
    return [f"✓ {document.place}: moved {counted}", *(f"  {run}" for run in document.runs)]
