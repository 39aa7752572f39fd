"""500 rollouts in a storm: never a wrong success, never traffic on a release that did not pass.

Thirty of a hundred calls to the cloud are struck, the state loses answers, engines fall silent, a
stranger interferes, signals come, the process dies. After every call the laws of storm_laws.py are
looked at on the cloud itself. A seed that breaks one is printed with all that happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from meshctl.errors import MeshctlError
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.verbs import Choice
from tests import builders
from tests.fakes.memory_store import Died
from tests.fakes.stormy_cloud import STRANGERS, breaks
from tests.fakes.stormy_world import StormyWorld
from tests.properties.storm_laws import Broken, Watch, truth

STEPS = (5, 50, 100)
BEHAVIOURS = (
    "ok", "ok", "ok", "ok", "flaky", "never-ready", "wedged", "liar", "wedged-in-traffic",
    "unclear", "unclear-in-traffic",
)  # fmt: skip
Verb = Callable[[StormyWorld], Outcome]


@cache
def two_releases() -> StormyWorld:
    """Release 2 serves, 1 served before it; the weather is good."""
    world = StormyWorld(0)
    world.serve("1", "2", access="public")
    return world


@dataclass
class Storm:
    """One seed: a world, what is asked for in it, and what comes in between."""

    seed: int
    chance: float = 0.3
    codes: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        base = StormyWorld(0) if self.seed % 10 == 0 else two_releases()
        self.world = base.copied(self.seed)
        self.dice = self.world.weather.dice
        self.watch = Watch(self.world)
        self.watch.look("the beginning")
        self.world.api.watch = self.watch.look
        self.behaviour = self.dice.choice(BEHAVIOURS)
        self.shape: dict[str, Any] = {
            "access": "public", "rollout": {"steps": list(STEPS), "bake": "1s", "confirm": 1},
        }  # fmt: skip
        release = builders.release("3", **self.shape)
        self.world.behave[release.id] = self.behaviour  # type: ignore[assignment]

    def run(self) -> None:
        """One verb or two, then perhaps what a person types after it, then calm weather."""
        self.world.breaks_loose(self.chance, http=self.dice.choice((0.0, 0.05, 0.3)))
        for verb in self._script():
            self._plagues()
            self.codes.append(self._attempt(verb))
        self.world.calms_down()
        self._settle()

    def _script(self) -> list[Verb]:
        first: list[Verb] = [self.deploy]
        if self.seed % 10:
            first = self.dice.choice([[self.deploy], [self.deploy], [self.canary, self.cutover],
                                      [self.rollback]])  # fmt: skip
        after: list[Verb] = [self.resume, self.abort, self.rollback, self.deploy]
        return [*first, *self.dice.sample(after, self.dice.choice((0, 1, 2)))]

    def _plagues(self) -> None:
        """Something that comes before the N-th call from here; one in two goes without."""
        api, world = self.world.api, self.world
        api.plagues.clear()
        api.ambushes.clear()
        which = self.dice.random()
        at = api.calls + self.dice.randint(1, 60)
        if which < 0.1:
            api.ambushes[api.writes + self.dice.randint(1, 6)] = self.dice.choice(STRANGERS)
        elif which < 0.2:
            api.plagues[at] = self.dice.choice(STRANGERS)
        elif which < 0.3:
            api.plagues[at] = world.dies
        elif which < 0.4:
            side = self.dice.choice(("before", "after"))
            world.dies_at_a_write(f"{side}:{self.dice.randint(1, 20)}")
        elif which < 0.5:
            api.plagues[at] = world.is_stopped
            api.plagues[at + self.dice.randint(1, 20)] = world.is_stopped
        elif which < 0.55:
            api.plagues[at] = breaks

    def _attempt(self, verb: Verb) -> int | None:
        """The verb as a process: its exit code, None for one that died."""
        world = self.world
        world.weather.told.append(f"--- {verb.__name__}")
        done, moved = len(world.api.done), world.api.strangers
        try:
            outcome = verb(world)
        except Died:
            world.weather.told.append("--- died")
            return None
        except MeshctlError as error:
            world.weather.told.append(f"--- {error.exit_code} {error.message}")
            self._nothing_was_done(error, world.api.done[done:], moved)
            return error.exit_code
        finally:
            world.lives_again()
        world.weather.told.append(f"--- {outcome.exit_code} {outcome.message}")
        truth(world, outcome)
        return outcome.exit_code

    def _nothing_was_done(self, error: MeshctlError, done: list[str], moved: int) -> None:
        if error.exit_code not in (6, 8, 64) or done:
            raise Broken(f"raised {error.exit_code} {error.message}, having done {done}")

    def _settle(self) -> None:
        """In calm weather a person ends what is unfinished, and the next deploy goes through."""
        world = self.world
        for verb in (self.resume, self.abort):
            if world.ledger.unfinished is not None:
                self.codes.append(self._attempt(verb))
        if world.ledger.unfinished is not None:
            raise Broken("nobody can end this run")
        in_force = world.api.asked("chat") == world.api.split("chat")
        if not in_force or any(told.endswith(" breaks") for told in world.weather.told):
            return  # a stranger had a hand on what cannot serve: nothing may ever come into force
        code = self._attempt(self.take_over if world.api.strangers else self.deploy_next)
        if code == 8 and world.ledger.half_way:  # whoever took a run over died before it began
            self._attempt(self.rollback)
            code = self._attempt(self.deploy_next)
        if code != 0:
            raise Broken(f"the next deploy ended with {code}")

    # Verbs.

    def deploy(self, world: StormyWorld) -> Outcome:
        return world.deploy("3", **self.shape)

    def deploy_next(self, world: StormyWorld) -> Outcome:
        return world.deploy("4", **self.shape)

    def take_over(self, world: StormyWorld) -> Outcome:
        return world.deploy("4", take_traffic=True, **self.shape)

    def canary(self, world: StormyWorld) -> Outcome:
        return world.canary("3", **self.shape)

    def cutover(self, world: StormyWorld) -> Outcome:
        return world.cutover(*STEPS, choice=Choice())

    def rollback(self, world: StormyWorld) -> Outcome:
        return world.rollback()

    def resume(self, world: StormyWorld) -> Outcome:
        return world.resume()

    def abort(self, world: StormyWorld) -> Outcome:
        return world.abort()


def weathered(seed: int) -> Storm:
    """The storm of a seed once it is over; broken laws are told with the whole schedule."""
    storm = Storm(seed)
    try:
        storm.run()
    except (Broken, Exception) as broken:
        told = "\n".join(storm.world.weather.told)
        pytest.fail(f"seed {seed} ({storm.behaviour}):\n{told}\n{broken!r}")
    return storm


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_fifty_rollouts_in_a_storm_break_no_law(first: int) -> None:
    for seed in range(first, first + 50):
        weathered(seed)
