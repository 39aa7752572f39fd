"""`meshctl env`: two environments beside each other, and one brought to the fleet file."""

from __future__ import annotations

import typer

from meshctl.cli.approve import approval
from meshctl.cli.deploy import SERVICE, SHOW_VALUES, TAKE, told, wish_of
from meshctl.cli.grounds import declared as ground_of
from meshctl.cli.observing import observed
from meshctl.cli.pairs import only_pair
from meshctl.cli.quota import asking
from meshctl.cli.statuses import wanted_of
from meshctl.cli.world import World, world_of
from meshctl.errors import Refused, Unreachable, UsageError
from meshctl.observe.env_diff import Side, Value, env_diff
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.rollout.env import sync as sync_env
from meshctl.spec.model import Fleet
from meshctl.spec.near import near
from meshctl.ui.convert import hashed
from meshctl.ui.federation import EnvDiff, EnvKey

ONE = "A service, or SERVICE@RELEASE, or SERVICE@REVISION."


def diff(
    ctx: typer.Context,
    a: str = typer.Argument(..., metavar="A", help=ONE),
    b: str | None = typer.Argument(None, metavar="B", help=ONE),
    declared: bool = typer.Option(
        False, "--declared", help="What the fleet file declares, not what serves."
    ),
    show_values: bool = SHOW_VALUES,
) -> None:
    """Compare two environments key by key: what serves, or with --declared what is declared.

    `env diff A --declared` compares what serves of A with what is declared for it.

    Values are hashes unless --show-values, secrets are references. Keys that should differ are
    told apart. Exits 0 also when keys differ.
    """
    world = world_of(ctx)
    left, right = _sides(world, a, b, declared=declared)
    keys = env_diff(left, right)
    shown = tuple(
        EnvKey(
            **key.model_dump(exclude={"a", "b"}),
            a=_shown(key.a, show_values),
            b=_shown(key.b, show_values),
        )
        for key in keys
    )
    odd = sum(key.state != "same" and not key.expected for key in keys)
    world.output.show(EnvDiff(a=left.title, b=right.title, keys=shown, unexpected=odd))


def _sides(world: World, a: str, b: str | None, *, declared: bool) -> tuple[Side, Side]:
    """Both sides. Raises UsageError where there is nothing on the right."""
    if b is not None:
        side = _declared_side if declared else _live_side
        return side(world, a), side(world, b)
    key = a.partition("@")[0]
    if not declared:
        raise UsageError(
            f"{a} is compared with nothing",
            hint=f"with the fleet file: `meshctl env diff {a} --declared`; with another service or "
            f"release: `meshctl env diff {a} B`",
        )
    return _live_side(world, a), _declared_side(world, key)


def _shown(value: Value | None, show_values: bool) -> str | None:
    if value is None:
        return None
    return value.text if show_values or value.reference else hashed(value.text)


def _declared_side(world: World, word: str) -> Side:
    if "@" in word:
        raise UsageError(
            f"{word} names a release, and --declared is about the fleet file",
            hint=f"leave out --declared, or write {word.partition('@')[0]}",
        )
    pair = only_pair(world.fleet(), word)
    with ground_of(world, pair) as ground:
        template = wanted_of(world, pair, ground.ledger())
    if template is None:
        image = world.fleet().services[word].image
        raise Refused(
            f"image {image} has no recorded build", hint=f"run `meshctl build {image}`", place=word
        )
    return Side(word, f"{word} as declared", template)


def _live_side(world: World, word: str) -> Side:
    """What serves, or the release or revision that stands behind the `@`."""
    key, at, which = word.partition("@")
    pair = only_pair(world.fleet(), key)
    target = observed(world, [pair], access=False)[pair[1]]
    if target.unknown:
        raise Unreachable(f"{pair[1]} cannot be observed: {target.unknown}", place=pair[1])
    seen = target.services.get(world.fleet().services[key].name or key)
    if seen is None:
        raise Refused(
            f"{key} does not exist on {pair[1]}",
            hint=f"`meshctl deploy {key}`, or compare what is declared: "
            f"`meshctl env diff {key} OTHER --declared`",
        )
    revision = _named(seen, key, which) if at else _serving(seen, key)
    return Side(key, f"{key} release {revision.release} ({revision.name})", revision.template)


def _named(seen: ServiceSeen, key: str, which: str) -> Revision:
    """By name or by release, the newest first. Raises UsageError with near names."""
    for revision in seen.revisions:
        if which in (revision.name, revision.release):
            return revision
    known = [name for one in seen.revisions for name in (one.release, one.name)]
    raise UsageError(f"{key} has no release or revision {which!r}", hint=near(which, known))


def _serving(seen: ServiceSeen, key: str) -> Revision:
    if seen.main is None:
        raise Refused(f"nothing of {key} serves", hint=f"see `meshctl status {key}`")
    return seen.main


def sync(
    ctx: typer.Context,
    service: str = SERVICE,
    from_: str | None = typer.Option(
        None, "--from", metavar="COORDINATOR", help="Make sure that it is like this one."
    ),
    take_traffic: bool = TAKE,
    show_values: bool = SHOW_VALUES,
) -> int:
    """Bring the environment of a service to what the fleet file declares, and nothing else.

    A whole verified rollout of the release that serves. A peer gets the env of the service it is
    `like`, with its own entries on top.
    """
    world = world_of(ctx)
    pair = only_pair(world.fleet(), service)
    if from_ is not None:
        _must_be_like(world.fleet(), service, from_)
    with ground_of(world, pair) as ground:
        wish = wish_of(world, pair, asking(world), take_traffic=take_traffic)
        outcome = sync_env(ground, wish, approval(world, show_values=show_values))
    return told(world, outcome, show_values=show_values)


def _must_be_like(fleet: Fleet, service: str, other: str) -> None:
    """An env from elsewhere would be undone by the next deploy."""
    if other not in fleet.services:
        hint = near(other, fleet.services)
        raise UsageError(f"no service named {other!r}", hint=hint, place=fleet.file)
    if fleet.services[service].like != other:
        raise UsageError(
            f"{service} is not like {other}, so the next deploy would undo its env",
            hint=f"write `like: {other}` into services.{service}",
            place=fleet.place(f"services.{service}"),
        )
