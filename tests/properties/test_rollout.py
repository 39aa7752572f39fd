"""Whatever happens to a rollout (a crash round any write, a fault in any act, a stranger's hand),
what worked keeps working and the record says so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import Refused
from meshctl.outside.gcp import LostAnswer
from meshctl.rollout.choice import Choice
from meshctl.rollout.outcome import Outcome
from tests import builders
from tests.fakes.fake_ground import World
from tests.fakes.fake_target import Fault
from tests.fakes.memory_store import Died, MortalStore

SPLIT: dict[str, Any] = {"rollout": {"steps": [5, 100], "bake": "1s"}}
Act = Callable[[World], Outcome]


@dataclass(frozen=True)
class Scenario:
    """What was there, what is asked for, and how the same is asked for after a crash."""

    name: str
    given: Callable[[World], object]
    when: Act
    behave: tuple[tuple[str, str], ...] = ()
    code: int = 0
    traffic: tuple[tuple[str, int], ...] = (("1", 100),)
    again: Act | None = None

    def world(self) -> World:
        world = World()
        self.given(world)
        for version, behaviour in self.behave:
            for access in ("private", "public"):
                id = builders.release(version, access=access, **SPLIT).id
                world.target.behave[id] = behaviour  # type: ignore[assignment]
        return world


def nothing(_: World) -> None:
    """An empty region."""


def one(world: World) -> None:
    world.serve("1")


def two(world: World) -> None:
    world.serve("1", "2")


def candidate(world: World) -> None:
    one(world)
    assert world.canary("2").exit_code == 0


def paused(world: World) -> None:
    one(world)
    world.target.behave[builders.release("2").id] = "unclear-in-traffic"
    assert world.deploy("2", **SPLIT).exit_code == 7


def stopped_twice(world: World) -> None:
    """A second signal stopped the way back in its middle."""
    one(world)

    def signals(_: float) -> None:
        world.interrupts.count = 2

    world.whenever_slept = signals
    assert world.deploy("2", scaling={"min": 1}, **SPLIT).exit_code == 4
    world.whenever_slept = lambda _: None
    world.interrupts.count = 0


def deploy(world: World) -> Outcome:
    return world.deploy("2", **SPLIT)


def deploy_first(world: World) -> Outcome:
    return world.deploy("2", access="public", scaling={"min": 1}, **SPLIT)


TWO = (("2", 100),)
SCENARIOS = (
    Scenario("first deploy", nothing, deploy_first, traffic=TWO),
    Scenario("first deploy fails", nothing, deploy_first, (("2", "wedged"),), 3, ()),
    Scenario("first deploy never ready", nothing, deploy_first, (("2", "never-ready"),), 3, ()),
    Scenario("first deploy unclear", nothing, deploy_first, (("2", "unclear"),), 7, TWO),
    Scenario("beside", one, deploy, traffic=TWO),
    Scenario(
        "beside, opened and scaled",
        one,
        lambda w: w.deploy("2", access="public", scaling={"min": 1}),
        traffic=TWO,
    ),
    Scenario("settings only", one, lambda w: w.deploy("1", access="public", scaling={"min": 2})),
    Scenario("never ready", one, deploy, (("2", "never-ready"),), 3),
    Scenario("wedged", one, deploy, (("2", "wedged"),), 3),
    Scenario("liar", one, deploy, (("2", "liar"),), 3),
    Scenario("wedged after shift", one, deploy, (("2", "wedged-in-traffic"),), 3),
    Scenario("unclear before traffic", one, deploy, (("2", "unclear"),), 7),
    Scenario("unclear in traffic", one, deploy, (("2", "unclear-in-traffic"),), 7),
    Scenario("canary", one, lambda w: w.canary("2")),
    Scenario("canary fails", one, lambda w: w.canary("2"), (("2", "wedged"),), 3),
    Scenario("canary kept", one, lambda w: w.canary("2", keep=True), (("2", "wedged"),), 3),
    Scenario("cutover by steps", candidate, lambda w: w.cutover(5, 100), traffic=TWO),
    Scenario("cutover to LATEST", candidate, lambda w: w.cutover(follow_latest=True), traffic=TWO),
    Scenario("cutover fails", candidate, lambda w: w.cutover(5, 100),
             (("2", "wedged-in-traffic"),), 3),
    Scenario("cutover unclear", candidate, lambda w: w.cutover(5, 100),
             (("2", "unclear-in-traffic"),), 7),
    Scenario("rollback", two, lambda w: w.rollback()),
    Scenario("rollback to a bad one", two, lambda w: w.rollback(), (("1", "wedged"),), 4),
    Scenario("abort", paused, lambda w: w.abort(), (), 0, again=lambda w: w.abort()),
    Scenario("way back resumed", stopped_twice, lambda w: w.resume(), (), 130),
)  # fmt: skip
NAMES = [scenario.name for scenario in SCENARIOS]
CHANGING = [s for s in SCENARIOS if s.name not in ("abort", "way back resumed")]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_a_scenario_ends_as_it_says(scenario: Scenario) -> None:
    world = scenario.world()

    outcome = scenario.when(world)

    assert outcome.exit_code == scenario.code, outcome.message
    assert world.traffic == dict(scenario.traffic)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_a_crash_on_either_side_of_any_write_changes_nothing_in_the_end(scenario: Scenario) -> None:
    calm = scenario.world()
    writes = -calm.memory.created
    scenario.when(calm)
    writes += calm.memory.created

    assert writes >= 4
    for number in range(1, writes + 1):
        for side in ("before", "after"):
            crashed(scenario, f"{side}:{number}", calm)


@pytest.mark.parametrize("scenario", CHANGING, ids=[s.name for s in CHANGING])
def test_abort_after_a_crash_at_any_write_restores_what_was_found(scenario: Scenario) -> None:
    before = scenario.world()
    calm = scenario.world()
    scenario.when(calm)
    for number in range(2, calm.memory.created - before.memory.created + 1):
        for side in ("before", "after"):
            world = scenario.world()
            world.store = MortalStore(world.memory, f"{side}:{number}")
            with pytest.raises(Died):
                scenario.when(world)
            world.store = world.memory
            if world.ledger.unfinished is None:
                continue  # it had not begun, or had ended already

            outcome = world.abort()

            assert (outcome.exit_code, outcome.restored) == (0, True), outcome.message
            assert world.traffic == before.traffic
            assert tags_of_others(world) == tags_of_others(before)
            assert world.ledger.unfinished is None


def tags_of_others(world: World) -> dict[str, str]:
    """A candidate's own tag may be gone: retiring it is the one thing that is never undone."""
    return {tag: version for tag, version in world.tags.items() if version != "2"}


def crashed(scenario: Scenario, when: str, calm: World) -> None:
    world = scenario.world()
    known = len(world.memory.list("runs/"))
    world.store = MortalStore(world.memory, when)
    with pytest.raises(Died):
        scenario.when(world)
    world.store = world.memory

    code = finish(scenario, world, opened=len(world.memory.list("runs/")) > known)

    assert world.state() == calm.state(), when
    assert code in (scenario.code, None), when
    for run in world.ledger.runs:
        no_finished_step_is_repeated(world, run.run)


def finish(scenario: Scenario, world: World, *, opened: bool) -> int | None:
    """What an operator types after the crash; None where the run had ended already."""
    if scenario.again:
        with suppress(Refused):
            return scenario.again(world).exit_code
        return None
    if not opened:
        return scenario.when(world).exit_code
    last = world.ledger.runs[-1]
    paused_already = last.state == "paused" and last.exit_code == scenario.code
    if last.state == "closed" or paused_already:
        return last.exit_code
    return world.resume().exit_code


def no_finished_step_is_repeated(world: World, run: str) -> None:
    done: set[str | None] = set()
    for event in world.written(run):
        assert not (event.kind == "started" and event.step in done), event.step
        if event.kind == "finished":
            done.add(event.step)
        if event.kind == "undone":
            done.discard(event.step)


behaviours = st.sampled_from(
    ["ok", "never-ready", "wedged", "unclear", "flaky", "liar", "wedged-in-traffic",
     "unclear-in-traffic"]
)  # fmt: skip
faults = st.dictionaries(
    st.integers(1, 9),
    st.builds(
        Fault,
        st.sampled_from([LostAnswer("no answer"), Refused("the platform says no")]),
        st.sampled_from(["before", "after"]),
    ),
    max_size=2,
)
steps = st.sampled_from([(100,), (5, 100), (10, 50, 100)])
verbs_asked = st.sampled_from(["deploy", "canary", "cutover", "rollback"])


@settings(max_examples=300, deadline=None)
@given(verbs_asked, behaviours, faults, steps, st.booleans(), st.integers(0, 40))
def test_an_exit_code_never_claims_more_than_is_true(
    verb: str, behaviour: str, faults: dict[int, Fault], steps: tuple[int, ...], public: bool,
    crash: int,
) -> None:  # fmt: skip
    world = World()
    world.serve("1", "2", access="public" if public else "private")
    shape: dict[str, Any] = {
        "access": "public" if public else "private",
        "rollout": {"steps": list(steps)},
    }
    if verb == "cutover":
        world.canary("3", **shape)
    world.target.behave[builders.release("3", **shape).id] = behaviour  # type: ignore[assignment]
    world.target.faults = {len(world.target.performed) + n: f for n, f in faults.items()}

    code, restored = attempt(world, verb, steps, shape, crash)

    assert code in (0, 3, 4, 7, 8)
    truth(world, verb, code, restored)


def attempt(
    world: World, verb: str, steps: tuple[int, ...], shape: dict[str, Any], crash: int
) -> tuple[int, bool | None]:
    """The verb, perhaps crashing at some write and then resumed."""
    verbs: dict[str, Act] = {
        "deploy": lambda w: w.deploy("3", **shape),
        "canary": lambda w: w.canary("3", **shape),
        "cutover": lambda w: w.cutover(*steps, choice=Choice(revision=w.revision("3"))),
        "rollback": lambda w: w.rollback(),
    }
    known = len(world.ledger.runs)
    world.store = MortalStore(world.memory, f"after:{crash}") if crash else world.memory
    try:
        outcome = verbs[verb](world)
    except Died:
        world.store = world.memory
        opened = world.ledger.runs[known:]
        if opened and opened[0].state == "closed":
            return opened[0].exit_code or 0, None
        outcome = world.resume() if opened else verbs[verb](world)
    return outcome.exit_code, outcome.restored


def truth(world: World, verb: str, code: int, restored: bool | None) -> None:
    """What each exit code promises."""
    to = {"deploy": "3", "canary": "2", "cutover": "3", "rollback": "1"}[verb]
    if code == 0:
        assert world.traffic == {to: 100}
        assert world.ledger.unfinished is None
    elif code in (3, 7, 8):
        assert world.traffic == {"2": 100}
        assert restored in (True, None)
    else:
        assert restored is False or verb == "rollback"
    assert (code == 7) <= (world.ledger.unfinished is not None)
