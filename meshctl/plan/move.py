"""Plans that only move traffic: cutover forward, rollback back. No YAML decides here. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from meshctl.plan import in_place, traffic
from meshctl.plan.acts import Acts, numbered
from meshctl.plan.asks import asks_of
from meshctl.plan.change import Change
from meshctl.plan.observed import LATEST, Revision, ServiceSeen, Split
from meshctl.plan.question import before_of, says_its_release
from meshctl.plan.refusals import unknown_end
from meshctl.plan.release import Template, changes
from meshctl.plan.steps import (
    CheckRelease,
    Plan,
    Reason,
    RetireTag,
    SetScaling,
    ShiftTraffic,
    StartRevision,
    Step,
)
from meshctl.spec.model import Rollout
from meshctl.state.ledger import Ledger, Run


@dataclass(frozen=True)
class Move:
    """What a move is about; the policy comes from the fleet, or from its defaults without one."""

    key: str
    name: str
    target: str
    ledger: Ledger
    steps: tuple[int, ...] = (100,)
    battery: tuple[str, ...] = ("contract",)
    policy: Rollout = field(default_factory=Rollout)
    allow_unverified: bool = False
    follow_latest: bool = False


def make_cutover(move: Move, seen: ServiceSeen, revision: Revision) -> Plan:
    """Give a revision the traffic by the declared steps; only what passed may have it."""
    refused = _may_serve(move, seen, revision)
    found = was = traffic.named(seen)
    acts: Acts = []
    for percent in move.steps:
        to = traffic.toward(found, revision.name, percent)
        if not traffic.same(was, to):
            acts += _shift_and_check(move, seen, revision, to, was, found, percent == 100)
        was = to
    tags = _retire_tags(seen, revision) if acts else []
    if move.follow_latest:
        acts += _follow_latest(seen, was, found)
    acts += tags  # last: a rollout that cannot tidy up is done all the same
    return _plan(move, "cutover", seen, revision, () if refused else acts, refused)


def _may_serve(move: Move, seen: ServiceSeen, revision: Revision) -> list[Reason]:
    reasons = [*_unfinished(move)]
    if revision.template.unit:
        hint = f"`meshctl rollback {move.key} --to RELEASE` goes to one that once passed"
        message = f"{move.target} has one port for {move.key}: there is no traffic to be shared"
        return [*reasons, Reason(message=message, hint=hint)]
    if move.follow_latest and seen.latest_ready != revision.name:
        hint = "following LATEST would send traffic there; verify and cut over to that one first"
        message = f"the latest ready revision is {seen.latest_ready}, not {revision.name}"
        reasons.append(Reason(message=message, hint=hint))
    verdict = move.ledger.verdict_of(revision.name, revision.release)
    if verdict != "pass" and not move.allow_unverified:
        said = f"its latest verdict is {verdict}" if verdict else "it was never verified"
        reasons.append(
            Reason(
                message=f"revision {revision.name} may not serve: {said}",
                hint=f"`meshctl verify {move.key} --revision {revision.name}`, "
                "or --allow-unverified with --reason",
            )
        )
    if not revision.ready:
        hint = "choose another one: `meshctl history` lists them"
        reasons.append(Reason(message=f"revision {revision.name} is not ready", hint=hint))
    return reasons


def _unfinished(move: Move) -> list[Reason]:
    run = move.ledger.unfinished
    if move.ledger.damaged:
        return [unknown_end(move.ledger.damaged, move.key)]
    if run is None or run.verb == "canary":
        return []
    hint = f"`meshctl resume {move.key}` or `meshctl abort {move.key}`"
    return [Reason(message=f"run {run.run} ({run.verb}) is unfinished", hint=hint)]


def _shift_and_check(
    move: Move,
    seen: ServiceSeen,
    revision: Revision,
    to: Split,
    was: Split,
    found: Split,
    whole: bool,
) -> Acts:
    tag = None if whole else tag_on(seen, revision)
    check = CheckRelease(
        where="tag" if tag else "public" if seen.public else "service",
        revision=revision.name,
        tag=tag,
        release=revision.release,
        identity=(whole or tag is not None) and says_its_release(revision),
        asks=asks_of(revision.template, move.battery, move.policy),
        bake_s=move.policy.bake,
    )
    shift = ShiftTraffic(to=to, was=was, found=found)
    asked = f"tag {tag}, which has traffic now" if tag else "its URL"
    return [(f"traffic: {traffic.shown(to)}", shift), (f"ask the battery on {asked}", check)]


def tag_on(seen: ServiceSeen, revision: Revision) -> str | None:
    """A tag by whose URL exactly that revision is asked, whatever share of the traffic it has."""
    return next((r.tag for r in seen.effective if r.tag and r.revision == revision.name), None)


def _retire_tags(seen: ServiceSeen, revision: Revision) -> Acts:
    tags = sorted(row.tag for row in seen.traffic if row.tag and row.revision == revision.name)
    return [(f"retire tag {tag}", RetireTag(tag=tag, revision=revision.name)) for tag in tags]


def _follow_latest(seen: ServiceSeen, was: Split, found: Split) -> Acts:
    to = traffic.split({LATEST: 100})
    if traffic.same(seen.traffic, to):
        return []
    text = f"traffic follows LATEST (now {seen.latest_ready})"
    return [(text, ShiftTraffic(to=to, was=was, found=found))]


def make_rollback(move: Move, seen: ServiceSeen, release: str | None) -> Plan:
    """Shift first, check after. The default target is the predecessor in the chain."""
    found = traffic.named(seen)
    serving, alone = seen.main.name if seen.main else None, len(seen.serving) == 1
    known = move.ledger
    run = known.of_release(release) if release else known.predecessor(serving, alone=alone)
    revision = _still_there(seen, run, release)
    if revision is None:
        return _plan(move, "rollback", seen, None, (), [_nowhere(move, run, release)])
    to = traffic.split({revision.name: 100})
    if traffic.same(found, to):
        return _plan(move, "rollback", seen, revision, (), [])
    acts = _shift_and_check(_at_once(move), seen, revision, to, found, found, True)
    if revision.template.unit:
        acts[:1] = in_place.back_to(seen, revision)
    else:
        acts[1:1] = _scaling_back(seen, run, known)
    return _plan(move, "rollback", seen, revision, acts, [])


def _at_once(move: Move) -> Move:
    """Whoever rolls back is in a hurry, and what it goes to has baked before."""
    return replace(move, policy=move.policy.model_copy(update={"bake": 0.0}))


def _still_there(seen: ServiceSeen, run: Run | None, release: str | None) -> Revision | None:
    if run is not None and run.revision:
        found = seen.revision(run.revision)
        same = found is not None and found.release == run.release
        return found if found and same and not found.failed else None
    return None


def _nowhere(move: Move, run: Run | None, release: str | None) -> Reason:
    hint = f"see what once passed and served: `meshctl history {move.key}`"
    if open_ := move.ledger.unfinished:
        hint = f"`meshctl abort {move.key}` undoes run {open_.run} ({open_.verb}); or {hint}"
    if run is not None:
        message = (
            f"revision {run.revision} of release {run.release} is gone from the target, "
            "or is another release by now"
        )
    elif release:
        message = f"no release {release} of {move.key} ever passed and served"
    else:
        message = f"{move.key} has no earlier release that passed and served"
    return Reason(message=message, hint=hint)


def _scaling_back(seen: ServiceSeen, run: Run | None, known: Ledger) -> Acts:
    """The minimum that the release had when it served is restored with it."""
    minimum = known.minimum_of(run) if run else None
    if minimum is None or minimum == seen.scaling.min:
        return []
    to = seen.scaling.model_copy(update={"min": minimum})
    text = f"minimum instances: {seen.scaling.min} -> {to.min}"
    return [(text, SetScaling(to=to, was=seen.scaling))]


def _plan(
    move: Move,
    verb: str,
    seen: ServiceSeen,
    revision: Revision | None,
    acts: Acts | tuple[()],
    refused: list[Reason],
) -> Plan:
    main = seen.main
    before = main.template if main else None
    return Plan(
        service=move.key,
        target=move.target,
        name=move.name,
        verb=verb,
        strategy=_strategy(seen, list(acts)),
        outage_s=move.ledger.last_outage_s if _strategy(seen, list(acts)) == "instead" else 0.0,
        changes=_changes(before, revision, list(acts)),
        steps=_steps(verb, list(acts)),
        refused=tuple(refused),
        from_release=main.release if main else None,
        to_release=revision.release if revision else None,
        revision=revision.name if revision else None,
        found=traffic.named(seen),
        before=before_of(seen, move.battery, move.policy),
        min_instances=_min_after(seen, list(acts)),
        notes=_notes(move, verb, seen, revision, list(acts)),
    )


def _strategy(seen: ServiceSeen, acts: Acts) -> Literal["beside", "instead", "none"]:
    if not acts:
        return "none"
    starts = any(isinstance(act, StartRevision) for _, act in acts)
    return "instead" if starts else "beside"


def _changes(before: Template | None, revision: Revision | None, acts: Acts) -> tuple[Change, ...]:
    """What differs between the two releases, and in the service around them."""
    if revision is None:
        return ()
    around = [
        Change(path="scaling.min", before=str(act.was.min), after=str(act.to.min))
        for _, act in acts
        if isinstance(act, SetScaling)
    ]
    both = (*changes(before, revision.template), *around)
    return tuple(sorted(both, key=lambda change: change.path))


def _notes(
    move: Move, verb: str, seen: ServiceSeen, revision: Revision | None, acts: Acts
) -> tuple[str, ...]:
    """What a rollback leaves out and what it does not touch, for a person who is in a hurry."""
    if verb != "rollback" or revision is None or not acts:
        return ()
    if revision.template.unit:
        return _taken_over(move, revision)
    tags = sorted(f"{row.tag} ({row.revision})" for row in seen.traffic if row.tag)
    left = (f"tags stay as they are: {', '.join(tags)}",) if tags else ()
    kept = "access is not part of a release and stays as it is"
    return (*_taken_over(move, revision), kept, *left)


def _taken_over(move: Move, revision: Revision) -> tuple[str, ...]:
    """Which run loses its way back by this, and what `abort` would do instead: a person who wants
    to be rid of a rollout half-way may not mean to leave the release that it began from."""
    run = move.ledger.unfinished
    if run is None:
        return ()
    over = f"takes over run {run.run} ({run.verb}), which is unfinished"
    if run.from_revision == revision.name:
        undoes = "leads to the same revision, and takes away what the run left beside it"
    else:
        undoes = f"only undoes that run: {run.from_revision} keeps the traffic"
    return (f"{over}; `meshctl abort {move.key}` {undoes}",)


def _steps(verb: str, acts: Acts) -> tuple[Step, ...]:
    """A rollback stays where it shifted to, so no way back is promised."""
    steps = numbered(acts)
    if verb != "rollback":
        return steps
    return tuple(step.model_copy(update={"undo": ""}) for step in steps)


def _min_after(seen: ServiceSeen, acts: Acts) -> int:
    set_to = [act.to.min for _, act in acts if isinstance(act, SetScaling)]
    return set_to[-1] if set_to else seen.scaling.min
