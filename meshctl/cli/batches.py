"""Several services, or one on several hosts: in batches, stopped by failures, each with its end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from meshctl.cli.pairs import Pair
from meshctl.errors import MeshctlError
from meshctl.plan.batches import cut
from meshctl.rollout.ground import Ground
from meshctl.rollout.outcome import Outcome
from meshctl.spec.model import Fleet, Rollout

STOPS = (1, 4, 130)
"""Exit codes after which no further service is begun: something needs a person first."""
UNKNOWN = 6
"""A host that does not answer says nothing about the release; it is told at the end."""
NOT_BEGUN = "not begun: "
PERSON = f"{NOT_BEGUN}an earlier service needs a person"


@dataclass(frozen=True)
class Way:
    """How one pair is brought about (`one`), taken back with its batch (`back`), and what is waited
    for between two batches (`bake`, seconds)."""

    one: Callable[[Pair], Outcome]
    back: Callable[[Pair, Outcome], Outcome]
    bake: Callable[[float], None]
    policy: Callable[[str], Rollout]


def in_batches(wanted: Sequence[Pair], way: Way) -> list[Outcome]:
    """One outcome for each, in their order; a single one raises."""
    if len(wanted) == 1:
        return [way.one(wanted[0])]
    outcomes: list[Outcome] = []
    for key, group in groupby(wanted, key=lambda pair: pair[0]):
        outcomes += _service(key, list(group), way, stopped=_needs_person(outcomes))
    return outcomes


def _service(key: str, group: list[Pair], way: Way, *, stopped: bool) -> list[Outcome]:
    policy = way.policy(key)
    sizes = cut(len(group), policy.batches) if len(group) > 1 else (len(group),)
    outcomes: list[Outcome] = []
    why = PERSON if stopped else ""
    for number, size in enumerate(sizes):
        batch = group[len(outcomes) : len(outcomes) + size]
        if number and not why:
            way.bake(policy.bake)
        done = _batch(batch, way, policy.max_failures - _failures(outcomes), why)
        if len(group) > 1 and not why and _failures(outcomes + done) > policy.max_failures:
            done = _restored(batch, done, way)
            why = f"{NOT_BEGUN}{_failures(outcomes + done)} of {key} failed before it"
        outcomes += done
        why = why or (PERSON if _needs_person(outcomes) else "")
    return outcomes


def _batch(batch: list[Pair], way: Way, spare: int, why: str) -> list[Outcome]:
    """Until more failed than may: whoever comes after that is not begun."""
    done: list[Outcome] = []
    for pair in batch:
        if why or _failures(done) > max(spare, 0) or _needs_person(done):
            done.append(not_begun(pair, why or f"{NOT_BEGUN}its batch failed", 8))
        else:
            done.append(attempt(pair, way.one))
    return done


def _restored(batch: list[Pair], done: list[Outcome], way: Way) -> list[Outcome]:
    """Whoever of the batch has the release goes back too: it is the same one that failed beside."""
    return [
        attempt(pair, functools.partial(_back, way, one)) if one.exit_code == 0 and one.run else one
        for pair, one in zip(batch, done, strict=True)
    ]


def _back(way: Way, done: Outcome, pair: Pair) -> Outcome:
    return way.back(pair, done)


def taken_back(ground: Ground, fleet: Fleet, done: Outcome) -> Outcome:
    """What passed on this host, and goes back because it failed on others; 3, or 4 where it does
    not. A first release has nothing to go back to, and stays."""
    from meshctl.cli.grounds import move_of
    from meshctl.rollout.verbs import rollback

    if done.from_release is None:
        told = f"{done.message}; it stays, although its batch failed: there was none before it"
        return done.model_copy(update={"message": told})
    move = functools.partial(move_of, ground, fleet)
    back = rollback(ground, move, done.from_release, lambda _: None)
    why = f"passed here, and went back because its batch failed: {back.message}"
    code = 3 if back.exit_code == 0 else back.exit_code
    return back.model_copy(update={"message": why, "exit_code": code, "verb": done.verb})


def _failures(outcomes: Sequence[Outcome]) -> int:
    begun = (one for one in outcomes if not one.message.startswith(NOT_BEGUN))
    return sum(one.exit_code not in (0, UNKNOWN) for one in begun)


def _needs_person(outcomes: Sequence[Outcome]) -> bool:
    return any(one.exit_code in STOPS for one in outcomes)


def attempt(pair: Pair, one: Callable[[Pair], Outcome]) -> Outcome:
    """An error becomes an outcome, a bug too: what came of the others must not be lost."""
    try:
        return one(pair)
    except MeshctlError as error:
        return not_begun(pair, error.message, error.exit_code, error.hint)
    except Exception as bug:
        message = f"this is a bug in meshctl: {bug!r}"
        hint = f"look at `meshctl status {pair[0]}`, and run it alone with -v for the traceback"
        return not_begun(pair, message, 1, hint)


def not_begun(pair: Pair, message: str, code: int, hint: str = "") -> Outcome:
    """The outcome of what made no run."""
    return Outcome(
        run="", verb="deploy", service=pair[0], target=pair[1], verdict=None, exit_code=code,
        message=message, hint=hint,
    )  # fmt: skip
