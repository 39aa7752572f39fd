"""Which tags of a service can go, why the others stay, and the plan that takes them away. Pure.

What serves is never touched, nor the candidate of a run that nobody ended. What a rollback would go
to, a candidate that waits for its cutover, and a tag that meshctl did not make stay until somebody
names them: without its tag a revision is still there, but it has no address of its own any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from meshctl.plan import traffic
from meshctl.plan.acts import numbered
from meshctl.plan.cost import Cost, Warm
from meshctl.plan.observed import LATEST, ServiceSeen, Share
from meshctl.plan.steps import Plan, RetireTag
from meshctl.state.ledger import Ledger

Tagged = tuple[str, str]
"""A tag and the revision that it was put on."""


@dataclass(frozen=True)
class Question:
    """One service whose tags are looked through.

    `ours` are the tags that the journals say meshctl placed, `named` those that the operator means
    whatever else speaks for them.
    """

    key: str
    name: str
    target: str
    ledger: Ledger
    ours: frozenset[Tagged] = frozenset()
    named: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TagFound:
    """One tag and what is to be thought of it; `bound` ones do not go even when they are named."""

    tag: str
    revision: str
    release: str | None
    stale: bool
    why: str
    ours: bool
    bound: bool = False
    warm: Warm | None = None


def tags_found(question: Question, seen: ServiceSeen, cost: Cost) -> tuple[TagFound, ...]:
    """Every tag of a service, in the order of their names."""
    rows = sorted((row for row in seen.traffic if row.tag), key=lambda row: row.tag or "")
    return tuple(_found(question, seen, row, cost) for row in rows)


def gc_plan(question: Question, seen: ServiceSeen, tags: Sequence[TagFound]) -> Plan:
    """The plan that takes stale tags away; the percents stay as they are."""
    main = seen.main
    return Plan(
        service=question.key,
        target=question.target,
        name=question.name,
        verb="gc",
        strategy="settings",
        steps=numbered(
            [
                (f"take tag {one.tag} away from {one.revision}; the revision stays",
                 RetireTag(tag=one.tag, revision=one.revision))
                for one in tags
                if one.stale
            ]
        ),
        from_release=main.release if main else None,
        found=traffic.named(seen),
        min_instances=seen.scaling.min,
    )  # fmt: skip


def command_of(key: str, tag: str) -> str:
    """What takes exactly this tag away."""
    return f"meshctl gc {key} --tag {tag} --yes"


def _found(question: Question, seen: ServiceSeen, row: Share, cost: Cost) -> TagFound:
    name, tag = seen.resolve(row.revision) or row.revision, row.tag or ""
    revision = seen.revision(name)
    ours = (tag, name) in question.ours and row.revision != LATEST
    bound = _binding(question, seen, name)
    reason = bound or ("" if tag in question.named else _speaks_for(question, seen, row, ours))
    return TagFound(
        tag=tag,
        revision=row.revision if row.revision == LATEST else name,
        release=revision.release if revision else None,
        stale=not reason,
        why=reason or "no traffic, no open run, and no rollback goes there",
        ours=ours,
        bound=bool(bound),
        warm=next((one for one in cost.warm if one.revision == name), None),
    )


def _binding(question: Question, seen: ServiceSeen, name: str) -> str:
    """Why the tag stays although it is named, or ""."""
    rows: Iterable[Share] = (*seen.serving, *traffic.named(seen))
    percent = max((row.percent for row in rows if row.revision == name), default=0)
    if percent:
        return f"serves {percent} %"
    run = question.ledger.unfinished
    if run is not None and name in (run.revision, run.from_revision):
        state = "paused" if run.state == "paused" else "open"
        return f"run {run.run} ({run.verb}) is {state}: resume or abort it first"
    return ""


def _speaks_for(question: Question, seen: ServiceSeen, row: Share, ours: bool) -> str:
    """Why the tag stays unless it is named, or ""."""
    if row.revision == LATEST:
        return "follows the latest revision; not made by meshctl"
    serving = seen.main.name if seen.main else None
    goal = question.ledger.predecessor(serving, alone=len(seen.serving) == 1)
    if goal is not None and goal.revision == row.revision:
        return "a rollback would go to this revision"
    if _waits(question.ledger, row.revision):
        return f"passed as a canary and waits: `meshctl cutover {question.key}`"
    return "" if ours else "not made by meshctl"


def _waits(ledger: Ledger, revision: str) -> bool:
    """Whether it is a candidate that passed, and nothing came to serve since."""
    for run in reversed(ledger.runs):
        if run.served:
            return False
        if run.verb == "canary" and run.revision == revision:
            return run.state == "closed" and run.exit_code == 0
    return False
