"""What a verb goes by where the fleet file is broken, gone, or names the service no longer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from meshctl.cli.grounds import declared, unlisted
from meshctl.cli.known import Known, known_services
from meshctl.cli.pairs import only_pair, place_of
from meshctl.cli.world import World
from meshctl.errors import Unreachable, UsageError
from meshctl.rollout.ground import Ground
from meshctl.spec.model import CloudRunTarget, Fleet, Target
from meshctl.spec.near import near
from meshctl.state.site import site_of
from meshctl.ui.render.text import wrapped

WIDTH, FEW = 80, 3
ELSEWHERE = (
    "go to the folder of its fleet file, or name that file with -f FILE; a target that says "
    "`emulator: http://HOST:PORT` can be reached from every folder"
)
JOURNALS = (
    "without a fleet file `meshctl status`, `history`, `rollback`, `resume` and `abort` go by "
    "the journals: --state PLACE says where they are"
)


@dataclass(frozen=True)
class Recalled:
    """Services told apart by who knows them: keys for the fleet file (empty is all of it, None is
    none), and by what can be typed for them those that only the state knows."""

    declared: list[str] | None
    known: dict[str, tuple[Known, Target | None]] = field(default_factory=dict)


@contextlib.contextmanager
def remembered(world: World, key: str) -> Iterator[tuple[Ground, Fleet | None]]:
    """The ground for a service whose fleet file may be broken or gone, or no longer declare it:
    from the fleet where it can be, else from the newest journal that is about the service. Raises
    Unreachable where that was on an embedded cloud which is not here."""
    found = _journalled(world, key)
    if found is None:
        fleet = world.fleet()
        with declared(world, only_pair(fleet, key)) as ground:
            yield ground, fleet
        return
    known, place = found
    if why := elsewhere(world, place):
        told = f"the journal has {key} on an embedded cloud, but {why}"
        raise Unreachable(told, place=known.target, hint=ELSEWHERE)
    with unlisted(world, known.key, known.name, known.target, place) as ground:
        yield ground, None


def whereabouts(world: World, key: str) -> tuple[Known, Target]:
    """Which service is meant and where it is, from the same sources as `remembered`; nothing is
    opened or started for it."""
    if (found := _journalled(world, key)) is not None:
        return found
    fleet = world.fleet()
    pair = only_pair(fleet, key)
    place, name = place_of(fleet, pair), fleet.services[key].name or key
    return Known(key, name, pair[1], site_of(place)), place


def recalled(world: World, keys: list[str]) -> Recalled:
    """Which of these services the fleet file tells of, and which only the state knows; all there
    are when none is named. Says on stderr why it goes by the journals."""
    wrong = unusable(world)
    left = [key for key in keys if wrong or key not in world.fleet().services]
    if wrong is None and not left:
        return Recalled(keys)
    known = _by_what_is_typed(known_services(world))
    meant = {
        typed: found
        for typed, found in known.items()
        if not left or any(found[0].is_meant(key) for key in left)
    }
    unknown = [key for key in left if not any(one.is_meant(key) for one, _ in meant.values())]
    if wrong and (unknown or not meant):
        raise _nothing_known(world, wrong, unknown)
    if meant:
        _say_by_what(world, wrong, sorted(meant))
    declared = [key for key in keys if key not in left or key in unknown]
    return Recalled(None if wrong or not declared else declared, meant)


def elsewhere(world: World, place: Target) -> str:
    """Why the embedded cloud that a journal names cannot be asked; empty when it can. One that
    were started for the asking would be empty, and deny that anything ever ran."""
    if not isinstance(place, CloudRunTarget):
        return ""
    if place.emulator is not True or world.embedded_data.is_dir():
        return ""
    return f"there is none in {world.embedded_data.parent.parent}"


def unusable(world: World) -> UsageError | None:
    """Why nothing can be done by the fleet file; None when it is well."""
    try:
        world.fleet()
    except UsageError as wrong:
        return wrong
    return None


def _journalled(world: World, key: str) -> tuple[Known, Target] | None:
    """What the newest journal says of a service; None where the fleet file is to be asked. Raises
    UsageError where neither knows it, or the journals of several projects or regions do."""
    wrong = unusable(world)
    if wrong is None and key in world.fleet().services:
        return None
    found = [(known, place) for known, place in known_services(world).items()
             if place is not None and known.is_meant(key)]  # fmt: skip
    if len(found) > 1:
        sites = ", ".join(f"{known.site}/{key}" for known, _ in found)
        raise UsageError(
            f"the state knows {key} in several places, and {world.file} does not say which",
            hint=f"give the fleet file with -f, or name one: {sites}",
        )
    if wrong and not found:
        raise _nothing_known(world, wrong, [key])
    if found:
        _say_by_what(world, wrong, [found[0][0].key])
    return found[0] if found else None


def _by_what_is_typed(
    known: dict[Known, Target | None],
) -> dict[str, tuple[Known, Target | None]]:
    keys = [one.key for one in known]
    return {
        one.key if keys.count(one.key) == 1 else f"{one.site}/{one.key}": (one, place)
        for one, place in known.items()
    }


def _say_by_what(world: World, wrong: UsageError | None, keys: list[str]) -> None:
    """A warning with the mistake in the file, for the next thing to do is to mend it."""
    named = ", ".join(keys) if len(keys) <= FEW else f"{len(keys)} services"
    if wrong is None:
        why = f"does not declare {named}"
        world.output.warn(f"{world.file} {why}; going by the journal of {named}")
        return
    lines = [f"{world.file} cannot be used; going by the journal of {named}"]
    lines += wrapped(f"{wrong.place}: {wrong.message}", WIDTH, "  ", "    ")
    mend, find = "to see every mistake: `meshctl validate`", "is it elsewhere? -f FILE names it"
    world.output.warn("\n".join([*lines, f"  {mend if world.file.exists() else find}"]))


def _nothing_known(world: World, wrong: UsageError, keys: list[str]) -> UsageError:
    """The mistake in the file itself where no state is there to go by either."""
    known = {one.key for one in known_services(world)}
    if not known:
        wrong.hint = f"{wrong.hint}; {JOURNALS}"
        return wrong
    named = ", ".join(repr(key) for key in keys)
    return UsageError(
        f"no journal is about a service named {named}, and {world.file} cannot be used",
        hint=f"{near(keys[0], known)} `meshctl validate` says what is wrong with the file; "
        "--state PLACE names other journals",
    )
