"""`meshctl peer`: which peers a coordinator announces, and how one comes in or goes out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import typer

from meshctl.cli.approve import approval
from meshctl.cli.deploy import SHOW_VALUES, TAKE, wish_of
from meshctl.cli.federation import (
    coordinator_of,
    coordinators,
    declared_peer,
    left_behind,
    looks_at,
    row,
    rows_of,
    rows_or_none,
)
from meshctl.cli.grounds import declared, move_of
from meshctl.cli.headers import reading
from meshctl.cli.pairs import Pair, only_pair
from meshctl.cli.quota import asking
from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError, Unreachable
from meshctl.plan.observed import ServiceSeen
from meshctl.rollout import peers as verbs
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.peers import Coordinator
from meshctl.rollout.verbs import Approve
from meshctl.spec.peers import peers_of_coordinator
from meshctl.ui.convert import rollout_document, worst
from meshctl.ui.federation import Peers

T = TypeVar("T")
PEER = typer.Argument(..., metavar="PEER", help="The peer.")
OF = typer.Argument(None, metavar="COORDINATOR", help="Its peers; of all when none is named.")
TO = typer.Option(None, "--to", metavar="COORDINATOR", help="Who announces it.")
FROM = typer.Option(None, "--from", metavar="COORDINATOR", help="Who announces it.")


def list_(ctx: typer.Context, of: list[str] | None = OF) -> int:
    """Say which peers there are, who announces them, and what is not as it should be.

    Asks the cloud and the journals, never a peer. Exits 6 when a target cannot be reached.
    """
    world = world_of(ctx)
    found = [peer for key in coordinators(world.fleet(), of) for peer in rows_of(world, key)]
    world.output.show(Peers(peers=tuple(row(peer) for peer in found)))
    return 6 if any(peer.unseen for peer in found) else 0


def add(
    ctx: typer.Context,
    peer: str = PEER,
    to: str | None = TO,
    take_traffic: bool = TAKE,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Place and verify a peer, announce it, and prove that it answers through the coordinator.

    The coordinator is rolled out like in a deploy. What was interrupted is gone on with when this
    is said again; what is announced already is left alone.
    """
    world = world_of(ctx)
    fleet = world.fleet()
    pair = only_pair(fleet, declared_peer(fleet, peer))
    act = _Act(world, coordinator_of(fleet, peer, to), take_traffic, show_values)
    act.with_coordinator(lambda to: verbs.refuse_early(to, peer))
    with declared(world, pair) as ground:
        read = reading(world, fleet)
        wish = wish_of(world, pair, asking(world), take_traffic=take_traffic, read=read)
        wish = replace(wish, announcer=act.coordinator)
        placed = verbs.place(ground, wish, act.approve)
        done = [placed] if placed.run else []
        if placed.exit_code:
            return act.told(done)
        move = functools.partial(move_of, ground, world.fleet())
        seen = _after(done, pair, lambda: verbs.prove(ground, move))
    if isinstance(seen, Outcome):
        return act.told([*done, seen])
    return act.carry_on(done, lambda to: verbs.add(to, peer, seen))


def remove(
    ctx: typer.Context,
    peer: str = PEER,
    from_: str | None = FROM,
    take_traffic: bool = TAKE,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Take a peer out of the announcement, by a verified rollout of the coordinator.

    Its service stays; the command that removes it is part of the result. Works for a peer that the
    fleet file no longer declares.
    """
    world = world_of(ctx)
    coordinator = coordinator_of(world.fleet(), peer, from_)
    act = _Act(world, coordinator, take_traffic, show_values, peer)
    return act.carry_on([], lambda to: verbs.remove(to, peer))


def sync(
    ctx: typer.Context,
    to: str | None = TO,
    take_traffic: bool = TAKE,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Bring the announcement to what the fleet file declares and the journals call proved.

    Nothing is placed and no peer is verified: whoever is not proved is named.
    """
    world = world_of(ctx)
    fleet = world.fleet()
    coordinator = coordinator_of(fleet, None, to)
    act = _Act(world, coordinator, take_traffic, show_values)
    looks = looks_at(world, list(peers_of_coordinator(fleet, coordinator)))
    notes: list[str] = []

    def proved(peer: str) -> ServiceSeen | None:
        look = looks[peer]
        if look.unknown:
            raise Unreachable(f"{peer} cannot be observed: {look.unknown}", place=peer)
        alone = look.seen is not None and len(look.seen.serving) == 1
        return look.seen if alone and look.verdict == "pass" else None

    def one(to: Coordinator) -> Outcome:
        outcome, skipped = verbs.sync(to, tuple(looks), proved)
        notes.extend(skipped)
        return outcome

    return act.carry_on([], one, notes)


@dataclass(frozen=True)
class _Act:
    """One command that changes what a coordinator announces, and how it is told; `out` is whoever
    goes out, whose service may be removed once it is out."""

    world: World
    coordinator: str
    take_traffic: bool
    show_values: bool
    out: str = ""

    @property
    def pair(self) -> Pair:
        return only_pair(self.world.fleet(), self.coordinator)

    @property
    def approve(self) -> Approve:
        return approval(self.world, show_values=self.show_values)

    def carry_on(
        self,
        done: list[Outcome],
        announce: Callable[[Coordinator], Outcome],
        notes: list[str] | None = None,
    ) -> int:
        """Announce, and tell of it together with what was done before."""

        outcome = _after(done, self.pair, lambda: self.with_coordinator(announce))
        if not outcome.run and not outcome.exit_code:
            self.world.output.say(outcome.message)
        return self.told([*done, outcome], notes)

    def with_coordinator(self, act: Callable[[Coordinator], T]) -> T:
        """Do something with the ground of the coordinator."""
        pair = self.pair
        wish = wish_of(self.world, pair, asking(self.world), take_traffic=self.take_traffic)
        with declared(self.world, pair) as ground:
            return act(Coordinator(ground, wish, self.approve))

    def told(self, outcomes: list[Outcome], notes: list[str] | None = None) -> int:
        """Show the runs that were made, and the peers as they are now, and give the exit code."""
        code = worst(outcome.exit_code for outcome in outcomes)
        shown = [one for one in outcomes if one.run or one.exit_code]
        delete, about = left_behind(self.world, self.out) if self.out and not code else ("", "")
        document = Peers(
            peers=tuple(row(peer) for peer in rows_or_none(self.world, self.coordinator)),
            rollouts=tuple(rollout_document(one, show_values=self.show_values) for one in shown),
            exit_code=code,
            notes=(*(notes or ()), *([about] if about else [])),
            delete=delete,
        )
        self.world.output.show(document)
        return code


def _after(done: list[Outcome], pair: Pair, act: Callable[[], T]) -> T | Outcome:
    """What comes of an act; its error is an outcome where a run before it must not be lost."""
    try:
        return act()
    except MeshctlError as error:
        if not done:
            raise
        return Outcome(
            run="", verb="peer-add", service=pair[0], target=pair[1], verdict=None,
            message=error.message, exit_code=error.exit_code, hint=error.hint,
        )  # fmt: skip
