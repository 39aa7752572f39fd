"""Success is what is seen in force at the end, not what was asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.rollout.outcome import Outcome
from tests.fakes.fake_ground import World

VERBS: dict[str, tuple[tuple[str, ...], Callable[[World], Outcome]]] = {
    "deploy": (("1",), lambda world: world.deploy("2")),
    "cutover": (("1",), lambda world: world.cutover(100)),
    "rollback": (("1", "2"), lambda world: world.rollback()),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_release_that_serves_nothing_is_never_called_a_success(verb: str) -> None:
    served, act = VERBS[verb]
    world = World()
    world.serve(*served)
    if verb == "cutover":
        world.canary("2")
    chat = world.target.services["chat"]
    chat.stuck = chat.named()

    outcome = act(world)

    assert outcome.exit_code == 4
    assert outcome.traffic == chat.stuck
    assert ", ".join(f"{name} 100 %" for name in chat.stuck) in outcome.message
    assert outcome.left


@pytest.mark.parametrize("percent", [0, 99])
def test_a_part_of_the_traffic_is_not_all_of_it(percent: int) -> None:
    world = World()
    world.serve("1")
    chat = world.target.services["chat"]
    world.target.whenever = lambda act: setattr(
        chat, "stuck", {chat.revisions[-1].name: 100 - percent, chat.revisions[0].name: percent}
    )

    assert world.deploy("2").exit_code == 4


def test_a_canary_is_a_success_although_it_serves_nothing() -> None:
    world = World()
    world.serve("1")

    outcome = world.canary("2")

    assert outcome.exit_code == 0
    assert outcome.traffic == world.target.services["chat"].named()
