"""`meshctl plan`, `deploy` and `canary`: from the fleet file to what runs."""

from __future__ import annotations

import typer

from meshctl.cli.approve import approval
from meshctl.cli.batches import Way, in_batches, taken_back
from meshctl.cli.doors import binding, built_of
from meshctl.cli.grounds import declared
from meshctl.cli.headers import Read, reading
from meshctl.cli.logs_tail import tell_last_lines
from meshctl.cli.observing import ACCESS_OF, observed
from meshctl.cli.pairs import Pair, only_pair, pairs
from meshctl.cli.quota import Ask, asking
from meshctl.cli.source import source_of
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, Unreachable
from meshctl.observe.status import frozen_note
from meshctl.plan.observed import TargetSeen
from meshctl.plan.steps import Plan, Reason
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.verbs import canary as canary_verb
from meshctl.rollout.verbs import deploy as deploy_verb
from meshctl.rollout.wish import Wish, plan_deploy
from meshctl.state.holder import Holder
from meshctl.ui.convert import plan_document, rollout_document, rollouts_document

SERVICES = typer.Argument(None, metavar="SERVICE", help="Services; all when none is named.")
SERVICE = typer.Argument(..., metavar="SERVICE", help="The service.")
SHOW_VALUES = typer.Option(False, "--show-values", help="Print env values instead of hashes.")
TAKE = typer.Option(False, "--take-traffic", help="Carry on although a stranger pinned traffic.")
DESPITE = typer.Option(False, "--despite-quota", help="Do not ask the quota, if it seems full.")
UNWEIGHED = typer.Option(False, "--despite-budget", help="Do not ask whether it fits on its card.")


def plan(
    ctx: typer.Context,
    services: list[str] | None = SERVICES,
    exit_code: bool = typer.Option(False, "--exit-code", help="Exit 2 when there are changes."),
    take_traffic: bool = TAKE,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Show what deploy would do, and change nothing.

    Exits 8 when it would be refused; with --exit-code 2 when there are changes.
    """
    world = world_of(ctx)
    wanted = pairs(world.fleet(), services)
    seen = observed(world, wanted, access=len(wanted) <= ACCESS_OF)
    ask, read = asking(world, once=True), reading(world, world.fleet())
    plans = [_planned(world, pair, seen, (ask, read), take_traffic=take_traffic) for pair in wanted]
    world.output.show(plan_document(plans, show_values=show_values))
    if any(seen[one.target].unknown for one in plans):
        return 6
    if any(one.refused for one in plans):
        return 8
    return 2 if exit_code and any(not one.empty for one in plans) else 0


def _planned(
    world: World,
    pair: Pair,
    seen: dict[str, TargetSeen],
    facts: tuple[Ask, Read],
    *,
    take_traffic: bool,
) -> Plan:
    """One plan; a service that cannot be planned is a refused one, and hides no other; so is one
    on a target that does not answer, where there are others."""
    try:
        with declared(world, pair) as ground:
            wish = wish_of(world, pair, facts[0], read=facts[1], take_traffic=take_traffic)
            made = plan_deploy(ground, wish, seen[pair[1]])
            return _with_lock(made, binding(world, ground.name, ground.site))
    except (Refused, Unreachable) as no:
        if isinstance(no, Unreachable) and len(seen) == 1:
            raise
        reason = Reason(message=no.message, hint=no.hint, place=no.place)
        key, target = pair
        return Plan(
            service=key, target=target, name=world.fleet().services[key].name or key,
            verb="deploy", strategy="none", refused=(reason,),
        )  # fmt: skip


def _with_lock(made: Plan, holder: Holder | None) -> Plan:
    """A plan that could not be carried out now says so."""
    if holder is None:
        return made
    held = frozen_note(holder) if holder.frozen else f"locked by {holder.who} for {holder.what}"
    return made.model_copy(update={"notes": (f"{held}: deploy would exit 5", *made.notes)})


def deploy(
    ctx: typer.Context,
    services: list[str] | None = SERVICES,
    take_traffic: bool = TAKE,
    despite_quota: bool = DESPITE,
    despite_budget: bool = UNWEIGHED,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Bring services to what the fleet file says, each proved before it keeps traffic.

    A service on several hosts goes out in the batches of its `rollout`; where more fail than
    `max_failures`, the batch goes back, and the rest is not begun. Run again, it does those.
    """
    world = world_of(ctx)
    approve = approval(world, show_values=show_values)
    read = None if despite_budget else reading(world, world.fleet())

    def one(pair: Pair) -> Outcome:
        with declared(world, pair) as ground:
            ask = None if despite_quota else asking(world)
            wish = wish_of(world, pair, ask, read=read, take_traffic=take_traffic)
            outcome = deploy_verb(ground, wish, approve)
            tell_last_lines(world, ground, outcome)
            return outcome

    def back(pair: Pair, done: Outcome) -> Outcome:
        with declared(world, pair) as ground:
            return taken_back(ground, world.fleet(), done)

    way = Way(one, back, world.clock.sleep, lambda key: world.fleet().services[key].rollout)
    outcomes = in_batches(pairs(world.fleet(), services), way)
    document = rollouts_document(outcomes, show_values=show_values)
    world.output.show(document)
    return document.exit_code


def canary(
    ctx: typer.Context,
    service: str = SERVICE,
    tag: str | None = typer.Option(None, "--tag", help="Name of the tag; else made from the id."),
    keep: bool = typer.Option(False, "--keep", help="Leave a candidate that failed for a look."),
    take_traffic: bool = TAKE,
    despite_quota: bool = DESPITE,
    despite_budget: bool = UNWEIGHED,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Place a release at 0 % and verify it there; traffic is not touched."""
    world = world_of(ctx)
    pair = only_pair(world.fleet(), service)
    ask = None if despite_quota else asking(world)
    read = None if despite_budget else reading(world, world.fleet())
    wish = wish_of(world, pair, ask, read=read, take_traffic=take_traffic, tag=tag, keep=keep)
    with declared(world, pair) as ground:
        outcome = canary_verb(ground, wish, approval(world, show_values=show_values))
        tell_last_lines(world, ground, outcome)
    return told(world, outcome, show_values=show_values)


def told(world: World, outcome: Outcome, *, show_values: bool = False) -> int:
    """Show how one run ended, and give its exit code."""
    world.output.show(rollout_document(outcome, show_values=show_values))
    return outcome.exit_code


def wish_of(
    world: World,
    pair: Pair,
    ask: Ask | None,
    *,
    take_traffic: bool,
    read: Read | None = None,
    tag: str | None = None,
    keep: bool = False,
) -> Wish:
    """What a deploy is asked for: the fleet, the newest build, and whom to ask for the quota."""
    fleet = world.fleet()
    built = built_of(world, fleet, pair[0])
    return Wish(
        fleet=fleet,
        built=built,
        take_traffic=take_traffic,
        tag=tag,
        keep=keep,
        quota=lambda: ask(pair[1]) if ask else None,
        headers=lambda names: read(names) if read else None,
        source=lambda: source_of(world, pair),
    )
