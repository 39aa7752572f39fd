"""Adds peers to what a coordinator announces, and takes them out of it again.

Two services, two journals: the peer is placed and verified by a run of its own, then the
coordinator is rolled out with the new announcement by another one, which proves the peer through
it. Nothing else is remembered. Whoever does the same again finds how far it came by looking: an
unfinished run of ours is gone on with, a pass that stands is used, and what is announced already
makes no run at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from meshctl.errors import Refused, UsageError
from meshctl.plan.make import make_deploy
from meshctl.plan.move import Move
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.peer import asked_of, entry_of, reached, text_of
from meshctl.plan.peers import Announcing, make_announcement
from meshctl.plan.steps import PeerAsked
from meshctl.rollout.choice import Choice
from meshctl.rollout.ground import Ground
from meshctl.rollout.look import existing, observe
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.unfinished import unfinished
from meshctl.rollout.verbs import Approve, carry_out, deploy, refusal, resume
from meshctl.rollout.verify import verify
from meshctl.rollout.wish import Wish, planned, request_of
from meshctl.spec.federation import PeerEntry
from meshctl.spec.near import near
from meshctl.state.peers import Announced, announced, ever_announced

UNKNOWN_URL = "https://unknown"
"""Stands for the address of a peer that may not exist yet, where only its models matter."""
Seen = Callable[[str], ServiceSeen | None]
"""One reading of a peer, by its key in the fleet."""


def place(ground: Ground, wish: Wish, approve: Approve) -> Outcome:
    """Bring the peer to what the fleet says, or go on with a deploy that was doing just that."""
    begun = ground.ledger().unfinished
    if begun is not None and begun.verb == "deploy":
        wanted = make_deploy(request_of(ground, wish), observe(ground))
        if begun.release == wanted.to_release:
            return resume(ground)
    return deploy(ground, wish, approve)


def prove(ground: Ground, move: Callable[[], Move]) -> ServiceSeen:
    """The peer as it serves, with a pass for exactly that; asked only where none is journalled.

    Raises Refused when it does not pass, or when its traffic is split: nobody knows then who would
    answer.
    """
    seen = existing(ground, observe(ground))
    main = seen.main
    if main is None or len(seen.serving) != 1:
        raise Refused(
            f"traffic of {ground.key} is split, so no single release of it can be announced",
            hint=f"give it to one revision: `meshctl cutover {ground.key} --revision NAME`",
            place=f"{ground.target.name}/{ground.name}",
        )
    if ground.ledger().verdict_of(main.name, main.release) == "pass":
        return seen
    verdict = verify(ground, move(), Choice(), ())
    if not verdict.passed:
        raise Refused(
            f"{ground.key} did not pass, so it is not announced: {verdict.why}",
            hint=f"see `meshctl verify {ground.key}`, then `meshctl deploy {ground.key}`",
            place=f"{ground.target.name}/{ground.name}",
        )
    return seen


@dataclass(frozen=True)
class Coordinator:
    """The service that announces, and what is asked of it."""

    ground: Ground
    wish: Wish
    approve: Approve

    @property
    def known(self) -> Announced:
        """What its journals say that it announces. Raises Refused where that cannot be read."""
        known = announced(self.ground.ledger())
        if known.entries is None:
            raise Refused(
                f"what {self.ground.key} announces cannot be read: {known.why}",
                hint=f"see `meshctl explain {known.run}`",
                place=f"{self.ground.target.name}/{self.ground.name}",
            )
        return known


def refuse_early(to: Coordinator, peer: str) -> None:
    """Raises Refused for what would stop the announcement, before the peer is touched."""
    seen = existing(to.ground, observe(to.ground))
    begun = to.ground.ledger().unfinished
    if begun is None or begun.verb != "peer-add":
        plan = make_deploy(request_of(to.ground, to.wish), seen)
        if plan.refused:
            raise refusal(plan)
    entry = entry_of(peer, to.wish.fleet.services[peer], UNKNOWN_URL)
    others = (each for each in to.known.entries or () if each.id != peer)
    _refuse_unreached(to, peer, reached(to.wish.fleet, to.ground.key, entry, (*others, entry)))


def add(to: Coordinator, peer: str, seen: ServiceSeen) -> Outcome:
    """Announce a peer that is proved. Nothing is done where it is announced just so."""
    known = to.known
    entry = entry_of(peer, to.wish.fleet.services[peer], seen.url)
    entries = (*(each for each in known.entries or () if each.id != peer), entry)
    asked = asked_of(to.wish.fleet, to.ground.key, entry, entries, seen)
    _refuse_unreached(to, peer, [model.id for model in asked.models])
    return _announce(to, "peer-add", entries, (asked,), f"{peer} is announced and was proved")


def _refuse_unreached(to: Coordinator, peer: str, models: Sequence[str]) -> None:
    if models:
        return
    raise Refused(
        f"no request would ever reach {peer}: {to.ground.key} or a peer of lower priority answers "
        "for each of its models",
        hint=f"change services.{peer}.models or its priority; `meshctl validate` says who does",
        place=to.wish.fleet.place(f"services.{peer}.models"),
    )


def remove(to: Coordinator, peer: str) -> Outcome:
    """Take a peer out of the announcement; its service stays as it is. Raises UsageError for a
    name that neither the fleet nor any announcement ever held."""
    known = {*to.wish.fleet.services, *ever_announced(to.ground.ledger())}
    if peer not in known:
        raise UsageError(f"no peer named {peer!r}", hint=near(peer, known))
    entries = tuple(entry for entry in to.known.entries or () if entry.id != peer)
    return _announce(to, "peer-remove", entries, (), f"{peer} is not announced")


def sync(to: Coordinator, peers: Sequence[str], look: Seen) -> tuple[Outcome, tuple[str, ...]]:
    """Announce what is declared and proved, as it is declared now; and what was left out, and why.

    What is announced already stays even where a later verify failed: only whoever takes a peer out
    of the fleet file, or says `peer remove`, takes it away.
    """
    known, skipped = to.known, []
    entries: list[PeerEntry] = []
    fresh: dict[str, ServiceSeen] = {}
    for peer in peers:
        seen, before = look(peer), known.entry(peer)
        if seen is not None:
            entries.append(entry_of(peer, to.wish.fleet.services[peer], seen.url))
            fresh[peer] = seen
        elif before is not None:
            entries.append(before)
        if seen is None:
            stays = "stays announced as it was" if before else "is not announced"
            skipped.append(f"{peer} is not proved and {stays}: `meshctl peer add {peer}`")
    changed = [entry for entry in entries if entry.id in fresh and entry != known.entry(entry.id)]
    proofs = tuple(
        asked_of(to.wish.fleet, to.ground.key, entry, entries, fresh[entry.id]) for entry in changed
    )
    for proof in proofs:
        _refuse_unreached(to, proof.id, [model.id for model in proof.models])
    said = "the announcement is what the fleet declares"
    return _announce(to, "peer-sync", tuple(entries), proofs, said), tuple(skipped)


def _announce(
    to: Coordinator,
    verb: str,
    entries: tuple[PeerEntry, ...],
    proofs: tuple[PeerAsked, ...],
    already: str,
) -> Outcome:
    """Roll the coordinator out with these entries, or go on with the run that was doing that."""
    known = to.known
    text = text_of(entries, known)
    if _is_begun(to.ground, verb, text):
        return resume(to.ground)
    recorded = text == known.text
    said = Announcing(verb, text, proofs, recorded, _asked_notes(proofs))
    with to.ground.locked(verb) as lock:
        seen = observe(to.ground)
        plan = planned(
            lambda request, seen: make_announcement(request, seen, said),
            request_of(to.ground, to.wish), seen, to.wish,
        )  # fmt: skip
        outcome = carry_out(to.ground, plan, lock, to.approve, seen)
    return outcome if outcome.run else outcome.model_copy(update={"message": already})


def _is_begun(ground: Ground, verb: str, text: str) -> bool:
    """Whether a run that nobody ended was doing exactly this."""
    begun = ground.ledger().unfinished
    if begun is None or begun.verb != verb:
        return False
    return unfinished(ground)[1].peers == text


def _asked_notes(proofs: tuple[PeerAsked, ...]) -> tuple[str, ...]:
    return tuple(
        f"{proof.id} is private: if it does not let the coordinator in, `{proof.way_in}`"
        for proof in proofs
        if proof.way_in
    )
