"""Whether a unit restarts by itself, judged by two readings of it. Pure.

A port that answers proves nothing: an engine that dies at the first request of a kind answers
between its crashes for ever.
"""

from __future__ import annotations

from typing import Literal

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.unit import FirstCause, UnitSeen
from meshctl.targets.podman.readings.value import Unknown

Course = Literal["steady", "restarting", "down", "unclear"]


class LoopVerdict(Frozen):
    """What became of a unit between two readings, and what shows it."""

    course: Course
    evidence: tuple[str, ...]
    cause: FirstCause | None = None


def judge_loop(before: UnitSeen, after: UnitSeen) -> LoopVerdict:
    """`before` is read after the start that was meant; any further start is one that was not."""
    shown = (*_restarts(before, after), *_starts(before, after), *_waiting(after))
    if shown:
        return LoopVerdict(course="restarting", evidence=shown, cause=after.cause)
    if after.active in ("failed", "inactive"):
        said = f"{after.name} is {after.active} ({after.result or 'no result'})"
        return LoopVerdict(course="down", evidence=(said,), cause=after.cause)
    if after.active != "active" or before.name != after.name or not _counted(before, after):
        said = f"{after.name} is {after.active or 'unknown'}, and its starts are not both known"
        return LoopVerdict(course="unclear", evidence=(said,), cause=after.cause)
    return LoopVerdict(course="steady", evidence=(f"{after.name} ran on between two readings",))


def _counted(before: UnitSeen, after: UnitSeen) -> bool:
    unread = isinstance(before.restarts, Unknown) or isinstance(after.restarts, Unknown)
    return bool(before.invocation and after.invocation) or not unread


def _restarts(before: UnitSeen, after: UnitSeen) -> tuple[str, ...]:
    if isinstance(before.restarts, Unknown) or isinstance(after.restarts, Unknown):
        return ()
    first, last = before.restarts.value, after.restarts.value
    return (f"NRestarts went from {first} to {last}",) if last > first else ()


def _starts(before: UnitSeen, after: UnitSeen) -> tuple[str, ...]:
    """NRestarts begins anew with `reset-failed` and by hand; a new invocation is a start."""
    if before.invocation and after.invocation and before.invocation != after.invocation:
        return (f"started anew: InvocationID {before.invocation[:8]} -> {after.invocation[:8]}",)
    if before.entered_us and after.entered_us and after.entered_us > before.entered_us:
        return ("became active again between the readings",)
    return ()


def _waiting(after: UnitSeen) -> tuple[str, ...]:
    waits = after.sub in ("auto-restart", "auto-restart-queued")
    return (f"{after.name} waits for its next start ({after.result})",) if waits else ()
