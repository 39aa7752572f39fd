"""The releases of a service as its journals remember them, and revisions that none does. Pure.

Where the journal is damaged or knows no way back, the labels on the service are read with it, just
as a rollback would do.
"""

from __future__ import annotations

from collections.abc import Collection

from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.standing import with_labels
from meshctl.spec.model import Frozen
from meshctl.state.ledger import Ledger, Run
from meshctl.state.site import Site


class Past(Frozen):
    """One run that was about a release, or a revision that no run was about; `serving` is every
    one that gets requests now, `rollback_to` marks where a rollback would go."""

    run: Run | None
    serving: bool
    rollback_to: bool
    unproven: Revision | None = None

    @property
    def at(self) -> str:
        return self.run.at if self.run else self.unproven.created if self.unproven else ""


class History(Frozen):
    """All of it, the newest first; `chain` leads from what serves back, as rollbacks would go."""

    past: tuple[Past, ...]
    chain: tuple[Run, ...] = ()
    notes: tuple[str, ...] = ()


def history(ledger: Ledger, seen: ServiceSeen | None, site: Site) -> History:
    """Every run that placed, moved or verified a release, and every revision without one. `seen`
    is None where nobody could look."""
    serving = seen.main.name if seen and seen.main else None
    alone = seen is None or len(seen.serving) == 1
    known = ledger
    if seen and (not ledger.whole or ledger.predecessor(serving, alone=alone) is None):
        known = with_labels(ledger, seen, site)
    names = [row.revision for row in seen.serving] if seen else []
    current = {name: _latest(known, name) for name in names}
    goal = known.predecessor(serving, alone=alone)
    told = [
        Past(
            run=run,
            serving=any(run is one for one in current.values()),
            rollback_to=goal is not None and run.run == goal.run,
        )
        for run in reversed(known.runs)
        if run.release
    ]
    told = _once(told)
    unproven = [_unproven(one, names) for one in _strangers(known, seen)]
    return History(
        past=tuple(sorted([*told, *unproven], key=lambda one: one.at, reverse=True)),
        chain=_chain(known, current.get(serving or ""), goal),
        notes=_notes(ledger, told),
    )


def _once(told: list[Past]) -> list[Past]:
    """Without what a label says of a release that a run saw serve: the newest such run takes over
    its marks."""
    newest: dict[str | None, Past] = {}
    for one in told:
        if one.run and one.run.served and not one.run.by_label:
            newest.setdefault(one.run.release, one)
    doubles = {
        one.run.release: one
        for one in told
        if one.run and one.run.by_label and one.run.release in newest
    }
    kept = [one for one in told if one not in doubles.values()]
    return [_marked(one, doubles) if one in newest.values() else one for one in kept]


def _marked(one: Past, doubles: dict[str | None, Past]) -> Past:
    double = doubles.get(one.run.release) if one.run else None
    if double is None:
        return one
    marks = {
        "serving": one.serving or double.serving,
        "rollback_to": one.rollback_to or double.rollback_to,
    }
    return one.model_copy(update=marks)


def _latest(ledger: Ledger, revision: str) -> Run | None:
    """The run to which a revision that gets requests belongs: the last that saw it serve; else the
    last that placed or moved it, for one that has not ended saw nothing yet; else whoever asked."""
    about = [run for run in reversed(ledger.runs) if run.release and run.revision == revision]
    return max(about, key=lambda run: (run.served, run.verb != "verify"), default=None)


def _strangers(ledger: Ledger, seen: ServiceSeen | None) -> list[Revision]:
    """Revisions that exist, and that no run was ever about."""
    known = {run.revision for run in ledger.runs if run.release}
    return [one for one in (seen.revisions if seen else ()) if one.name not in known]


def _unproven(revision: Revision, serving: Collection[str]) -> Past:
    serves = revision.name in serving
    return Past(run=None, serving=serves, rollback_to=False, unproven=revision)


def _chain(ledger: Ledger, current: Run | None, goal: Run | None) -> tuple[Run, ...]:
    """v7 <- v6 <- v5: where one rollback after the other would lead from here."""
    found = [run for run in (current, goal) if run is not None]
    while goal is not None and (before := ledger.before(goal.revision)) is not None:
        found.append(before)
        goal = before
    return tuple(found)


def _notes(ledger: Ledger, told: list[Past]) -> tuple[str, ...]:
    found = [f"run {run.run} cannot be read" for run in ledger.runs if run.state == "damaged"]
    if any(one.run and one.run.by_label for one in told):
        found.append("what has no run is known by the labels on the service alone")
    return tuple(found)
