"""Whatever clients and engines do, a lane keeps its law; the world complains at every breach."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.mesh.lane import Rules
from meshctl.mesh.seat import Member
from tests.fakes.lane_world import World

Deed = tuple[str, int, float]

lengths = st.sampled_from((0.0, 0.5, 5.0, 61.0))
rules = st.builds(
    Rules,
    queue=st.integers(1, 12),
    min_residency_s=st.sampled_from((0.0, 5.0)),
    max_wait_s=st.sampled_from((0.0, 30.0)),
)
deeds: st.SearchStrategy[list[Deed]] = st.lists(
    st.tuples(
        st.sampled_from(("ask", "ask", "leave", "load", "vanish", "end", "want", "unload", "wait")),
        st.integers(0, 10),
        lengths,
    ),
    max_size=60,
)


@st.composite
def groups(draw: st.DrawFn) -> tuple[Member, ...]:
    models = "abcd"[: draw(st.integers(1, 4))]
    return tuple(
        Member(
            model,
            parallel=draw(st.integers(1, 3)),
            sets=() if pinned else tuple(draw(st.sets(st.sampled_from(("s", "t"))))),
            pinned=pinned,
            ttl_s=None if pinned else draw(st.sampled_from((None, 3.0))),
        )
        for model in models
        for pinned in [draw(st.integers(0, 4)) == 0]
    )


def play(members: tuple[Member, ...], weights: Rules, script: list[Deed]) -> World:
    """A world in which these deeds were done, each to one of those it can be done to."""
    world = World(*members, rules=weights)
    for deed, pick, seconds in script:
        do(world, deed, pick, seconds)
    return world


def do(world: World, deed: str, pick: int, seconds: float) -> None:
    everyone = sorted(world.members)
    choices: dict[str, list[str] | list[int]] = {
        "ask": everyone,
        "want": everyone,
        "unload": everyone,
        "leave": [*world.waiting, *world.serving],
        "load": world.loading,
        "vanish": world.ending,
        "end": [*world.loading, *world.ready],
    }
    if deed == "wait":
        world.pass_time(seconds)
    elif who := choices[deed]:
        getattr(world, deed)(who[pick % len(who)])


@settings(max_examples=300)
@given(groups(), rules, deeds)
def test_a_lane_keeps_its_law_and_every_request_ends(
    members: tuple[Member, ...], weights: Rules, script: list[Deed]
) -> None:
    world = play(members, weights, script)

    world.serve_all()

    assert not world.waiting and not world.serving
    world.pass_time(1000.0)


@given(groups(), rules, deeds)
def test_equal_events_give_equal_effects(
    members: tuple[Member, ...], weights: Rules, script: list[Deed]
) -> None:
    assert play(members, weights, script).effects == play(members, weights, script).effects


@settings(max_examples=50)
@given(
    parallel=st.integers(1, 3),
    weights=rules,
    every_s=st.sampled_from((0.1, 1.0, 7.0)),
    turn_s=st.sampled_from((0.5, 4.0)),
)
def test_no_flow_of_requests_for_one_model_starves_another(
    parallel: int, weights: Rules, every_s: float, turn_s: float
) -> None:
    world = World(Member("busy", parallel), Member("other"), rules=weights)
    world.ask("busy")
    world.settle()
    asked = world.ask("other")

    longest_s = weights.max_wait_s + weights.min_residency_s + (weights.queue + 2) * turn_s + 1
    while asked not in world.granted and asked not in world.refused:
        assert world.now < longest_s, "a stream of requests for one model starves another"
        step(world, every_s, turn_s)

    assert asked in world.granted or world.rules.queue == 1


def step(world: World, every_s: float, turn_s: float) -> None:
    """One more request comes, and turns that lasted long enough end."""
    world.ask("busy")
    world.pass_time(every_s)
    for request in tuple(world.serving):
        if world.now >= world.granted_at[request] + turn_s:
            world.leave(request)
    world.settle()
