"""What a service is right now, from what is observed and what is remembered. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshctl.plan import traffic, warmth
from meshctl.plan.change import Change
from meshctl.plan.cost import Cost, seen_cost
from meshctl.plan.observed import Revision, ServiceSeen, Share, TargetSeen
from meshctl.plan.prices import Prices
from meshctl.plan.refusals import is_pinned
from meshctl.plan.release import Template, changes
from meshctl.quantities import show_minute
from meshctl.spec.model import Frozen, Service
from meshctl.state.holder import Holder
from meshctl.state.ledger import Ledger

State = Literal["READY", "DEGRADED", "DEPLOYING", "STOPPED", "FAILED", "UNKNOWN"]


UNDECLARED = "role, drift and cost are unknown: only a fleet file that can be used says them"
GONE = "its journal saw it serve, and it is not there: deleted, or this is another cloud"


class Status(Frozen):
    """One service on one target; None is unknown. `release` is None, too, where several have the
    same share; `run` is the one that has not ended."""

    name: str
    target: str
    role: str | None
    state: State
    run: str | None = None
    release: str | None = None
    since: str | None = None
    who: str | None = None
    url: str | None = None
    pinned: bool | None = None
    seen: ServiceSeen | None = None
    drift: tuple[Change, ...] | None = ()
    notes: tuple[str, ...] = ()
    cost: Cost | None = None
    prices: Prices | None = None


@dataclass(frozen=True)
class Asked:
    """What is known beside the observation; `service` is None where no fleet file says what it
    should be, `wanted` where nothing can be compared, and `held` is the lock as far as it binds
    anybody."""

    key: str
    name: str
    service: Service | None
    wanted: Template | None
    ledger: Ledger
    held: Holder | None = None
    prices: Prices | None = None


def status_of(asked: Asked, target: TargetSeen) -> Status:
    """An unreachable target is UNKNOWN, never STOPPED."""
    seen = target.services.get(asked.name)
    known = _unseen(asked, target)
    first = _first(seen)
    if target.unknown:
        return known.model_copy(update={"notes": (f"not observed: {target.unknown}",)})
    pinned = _pinned(asked.ledger, seen)
    since, who = (None, None) if pinned else _since(asked.ledger, first)
    return known.model_copy(
        update={
            "state": _state(asked, seen),
            "release": first.release if first else None,
            "since": since,
            "who": who,
            "url": seen.url if seen else None,
            "pinned": pinned,
            "seen": seen,
            "drift": drift(asked, seen),
            "notes": _notes(asked, seen),
            "cost": _cost(asked, seen),
            "prices": asked.prices,
        }
    )


def _unseen(asked: Asked, target: TargetSeen) -> Status:
    service = asked.service
    role, drift = (service.role, ()) if service else (None, None)
    run = asked.ledger.unfinished
    return Status(
        name=asked.key, target=target.name, role=role, state="UNKNOWN", drift=drift,
        run=run.run if run else None,
    )  # fmt: skip


def _first(seen: ServiceSeen | None) -> Revision | None:
    """The revision that gets most of the requests; None where several get as many."""
    rows = seen.serving if seen else ()
    if seen is None or (len(rows) > 1 and rows[0].percent == rows[1].percent):
        return None
    return seen.main


def _state(asked: Asked, seen: ServiceSeen | None) -> State:
    """From the revisions that really get requests: a failed candidate beside them changes
    nothing for the callers, although Cloud Run then calls the whole service not ready."""
    if asked.held is not None and not asked.held.frozen:
        return "DEPLOYING"
    if seen is None:
        return "STOPPED"
    if seen.on_host:
        return _unit_state(seen)
    ready = [row for row in seen.serving if _is_ready(seen, row)]
    if not ready:
        return "DEPLOYING" if seen.reconciling else "FAILED"
    return "READY" if len(ready) == len(seen.serving) else "DEGRADED"


def _unit_state(seen: ServiceSeen) -> State:
    """A unit on its way up may be one that restarts again and again: it is not ours to call that
    deploying."""
    if seen.ready:
        return "READY"
    return "DEGRADED" if seen.reconciling else "STOPPED" if seen.down else "FAILED"


def _is_ready(seen: ServiceSeen, row: Share) -> bool:
    revision = seen.revision(row.revision)
    return revision is not None and revision.ready


def _since(ledger: Ledger, main: Revision | None) -> tuple[str | None, str | None]:
    """When, and by whom, the revision that serves came to serve; unknown for a stranger's, as it
    is where a stranger moved the traffic since."""
    if main is None:
        return None, None
    for run in reversed(ledger.runs):
        if run.served and run.revision == main.name:
            return run.at, run.who
    return None, None


def frozen_note(holder: Holder) -> str:
    """That nobody may deploy, who said so, and why."""
    return f"frozen by {holder.who.name} since {show_minute(holder.since)}: {holder.what}"


def _held_note(holder: Holder) -> str:
    """What goes on, and who does it."""
    run = f"run {holder.run} ({holder.what})" if holder.run else holder.what
    return f"{run} is under way, by {holder.who}"


def pin_note(seen: ServiceSeen, key: str) -> str:
    """What a split that meshctl did not write means for whoever deploys next."""
    who = f", last changed by {seen.modifier}" if seen.modifier else ""
    if seen.on_host:
        return (
            "the unit that stands there is not what meshctl last put there: `meshctl deploy "
            f"{key}` is refused unless told to --take-traffic"
        )
    return (
        f"traffic is pinned by a stranger{who}: a new revision gets "
        f"{traffic.for_a_new_one(seen)} %, and `meshctl deploy {key}` is refused unless told to "
        "--take-traffic; `meshctl history` shows what meshctl wrote"
    )


def _moved_note(seen: ServiceSeen, key: str, run: str) -> str:
    """The same while a run is unfinished, which cannot take traffic back from there."""
    who = f" by {seen.modifier}" if seen.modifier else ""
    return (
        f"traffic is pinned by a stranger: moved{who} while run {run} was unfinished; `meshctl "
        f"abort {key}` ends the run and leaves that split as it is"
    )


def _pinned(ledger: Ledger, seen: ServiceSeen | None) -> bool | None:
    """Of a run that stands open a split that is none of its own is a stranger's; one that is may
    have been its last step, or found by it. Unknown, too, when the last run cannot be read."""
    run = ledger.unfinished
    if seen is None or ledger.damaged:
        return None
    if seen.on_host and not seen.traffic:
        return False
    if run is None or run.state != "open":
        return is_pinned(ledger, seen)
    now = (traffic.percents(seen.traffic), traffic.percents(traffic.named(seen)))
    known = run.splits is None or any(split in now for split in run.splits)
    return None if known else True


def drift(asked: Asked, seen: ServiceSeen | None) -> tuple[Change, ...] | None:
    """Keys in which what runs differs from what is declared, were it for a part of the requests:
    from the declared to the real; None where nobody can say what is declared."""
    if asked.service is None:
        return None
    if seen is None:
        return (Change(path="service", before="declared", after=None),)
    found: list[Change] = []
    if asked.wanted is not None:
        found += _of_releases(asked.wanted, seen)
    if seen.on_host:
        return tuple(found)
    wanted_min = asked.service.scaling.service_min
    if wanted_min != seen.scaling.min:
        found.append(
            Change(path="scaling.min", before=f"{wanted_min}", after=f"{seen.scaling.min}")
        )
    public = asked.service.access == "public"
    if seen.public is not None and public != seen.public:
        real = "public" if seen.public else "private"
        found.append(Change(path="access", before=asked.service.access, after=real))
    return tuple(found)


def _of_releases(wanted: Template, seen: ServiceSeen) -> list[Change]:
    """Of every revision that gets requests, the largest share first; each difference once."""
    rows = [seen.revision(row.revision) for row in seen.serving]
    every = [changes(wanted, one.template) for one in rows if one is not None]
    return list(dict.fromkeys(change for some in every for change in some))


def _cost(asked: Asked, seen: ServiceSeen | None) -> Cost | None:
    """None where nobody sends a bill, or there is nothing to pay for."""
    if seen is None or asked.prices is None or not asked.prices.billed:
        return None
    return seen_cost(seen, asked.prices)


def _warmth(asked: Asked, seen: ServiceSeen | None) -> list[str]:
    if seen is None:
        return []
    cost = seen_cost(seen, asked.prices) if asked.prices else None
    warm = warmth.candidates(asked.key, asked.name, cost) if cost else []
    return [*warm, *warmth.by_others(seen.scaling)]


def _notes(asked: Asked, seen: ServiceSeen | None) -> tuple[str, ...]:
    notes = []
    run = asked.ledger.unfinished
    if asked.held is not None and asked.held.frozen:
        notes.append(frozen_note(asked.held))
    if asked.held is not None and not asked.held.frozen:
        notes.append(_held_note(asked.held))
    elif run is not None:
        said = "paused" if run.state == "paused" else "unfinished"
        notes.append(
            f"run {run.run} ({run.verb}) is {said}: `meshctl resume {asked.key}` "
            f"or `meshctl abort {asked.key}`"
        )
    if asked.ledger.damaged:
        notes.append(
            f"run {asked.ledger.damaged.run} cannot be read: whether it is finished, and who wrote "
            "the split, is unknown; `meshctl state check` names the object"
        )
    if seen is not None and _pinned(asked.ledger, seen):
        notes.append(_moved_note(seen, asked.key, run.run) if run else pin_note(seen, asked.key))
    if seen is not None and seen.reason and seen.on_host:
        notes.append(seen.reason)
    if asked.service is None:
        ever = any(run.served for run in asked.ledger.runs)
        notes += [GONE, UNDECLARED] if seen is None and ever else [UNDECLARED]
    elif asked.wanted is None:
        notes.append("drift of the release is unknown: its image has no recorded build")
    return (*notes, *_warmth(asked, seen))
