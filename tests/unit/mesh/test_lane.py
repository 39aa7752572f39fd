"""A lane gives the card to one set of models at a time, and a turn to everybody."""

from __future__ import annotations

from meshctl.mesh.events import RefuseDown, RefuseFull, Start, Stop
from meshctl.mesh.lane import Rules
from meshctl.mesh.seat import Member
from meshctl.mesh.waiting import Waiting
from tests.fakes.lane_world import World

AT_ONCE = Rules(min_residency_s=0.0)


def swaps(world: World) -> list[str]:
    """What was loaded and unloaded, in order: `+a -a`."""
    signs = {Start: "+", Stop: "-"}
    moves = [effect for effect in world.effects if isinstance(effect, Start | Stop)]
    return [signs[type(move)] + move.model for move in moves]


def loaded(*models: str, rules: Rules = AT_ONCE, members: tuple[Member, ...] = ()) -> World:
    """A world in which the first model is loaded and idle."""
    world = World(*(members or tuple(Member(model) for model in models)), rules=rules)
    world.want(next(iter(world.members)))
    world.settle()
    return world


def test_the_next_engine_starts_only_when_nothing_is_left_of_the_last() -> None:
    world = loaded("a", "b")

    world.ask("b")

    assert (world.ending, world.loading) == (["a"], [])
    world.vanish("a")
    assert world.loading == ["b"]


def test_a_model_that_serves_is_waited_for() -> None:
    world = loaded("a", "b")
    first = world.ask("a")

    world.ask("b")

    assert world.ending == []
    world.leave(first)
    assert world.ending == ["a"]


def test_requests_are_collated_by_model_in_the_order_of_arrival() -> None:
    world = loaded("a", "b", "c")

    for model in "abcabc":
        world.ask(model)
    world.serve_all()

    assert "".join(world.asked[request] for request in world.granted) == "aabbcc"
    assert swaps(world) == ["+a", "-a", "+b", "-b", "+c"]


def test_later_requests_go_first_only_until_the_longest_wait() -> None:
    world = loaded("a", "b", rules=Rules(min_residency_s=0.0, max_wait_s=30.0))
    first = world.ask("a")
    world.ask("b")
    world.pass_time(30.0)

    late = world.ask("a")
    world.leave(first)

    assert late not in world.granted
    assert world.ending == ["a"]


def test_requests_that_came_earlier_go_first_however_long_it_takes() -> None:
    world = loaded("a", "b", rules=Rules(min_residency_s=0.0, max_wait_s=30.0))
    first, second = world.ask("a"), world.ask("a")
    world.ask("b")
    world.pass_time(60.0)

    world.leave(first)

    assert second in world.granted
    assert world.ending == []


def test_a_model_just_loaded_stays_for_its_residency_and_not_a_moment_longer() -> None:
    world = loaded("a", "b", rules=Rules(min_residency_s=5.0))

    world.ask("b")
    world.pass_time(4.9)

    assert world.ending == []
    world.pass_time(0.1)
    assert world.ending == ["a"]


def test_models_of_one_set_stay_together_and_others_make_way() -> None:
    members = (Member("a", sets=("s",)), Member("b", sets=("s",)), Member("c"))
    world = loaded(members=members)

    world.ask("b")
    world.settle()
    together = sorted(world.ready)
    world.serve_all()
    world.ask("c")
    world.settle()

    assert together == ["a", "b"]
    assert world.ready == ["c"]


def test_as_few_as_possible_make_way() -> None:
    members = (Member("a", sets=("s", "t")), Member("b", sets=("s",)), Member("c", sets=("t", "u")))
    world = loaded(members=members)
    world.ask("b")
    world.settle()
    world.serve_all()

    world.ask("c")

    assert world.ending == ["b"]


def test_a_younger_request_does_not_load_its_model_before_an_older_one() -> None:
    members = (Member("a", sets=("s",)), Member("b"), Member("c", sets=("s",)))
    world = loaded(members=members)
    world.ask("a")
    world.ask("b")

    world.ask("c")

    assert world.loading == []


def test_a_pinned_model_is_loaded_beside_every_other() -> None:
    world = loaded(members=(Member("a"), Member("b"), Member("p", pinned=True)))
    world.want("p")
    world.settle()

    world.ask("b")
    world.settle()

    assert sorted(world.ready) == ["b", "p"]


def test_a_model_is_unloaded_when_nobody_asks_for_long_enough() -> None:
    world = loaded(members=(Member("a", ttl_s=60.0),))
    request = world.ask("a")
    world.pass_time(100.0)
    world.leave(request)
    world.pass_time(59.0)
    assert world.ready == ["a"]

    world.pass_time(1.0)
    world.settle()

    assert world.processes == []
    world.ask("a")
    assert world.loading == ["a"]


def test_a_full_queue_says_when_to_ask_again() -> None:
    world = loaded("a", rules=Rules(queue=1))
    first = world.ask("a")
    world.ask("a")

    last = world.ask("a")

    assert world.refused[last] == RefuseFull(last, 2)
    world.leave(first)
    world.ask("a")
    assert list(world.refused) == [last]


def test_who_can_be_served_at_once_needs_no_place_in_the_queue() -> None:
    world = loaded(members=(Member("a", parallel=2), Member("b")), rules=Rules(queue=1))
    world.ask("a")
    world.ask("b")

    served = world.ask("a")

    assert served in world.granted


def test_a_client_that_leaves_frees_its_turn_and_its_place() -> None:
    world = loaded("a")
    first, second, third = world.ask("a"), world.ask("a"), world.ask("a")

    world.leave(second)
    world.leave(first)

    assert world.granted == [first, third]


def test_a_load_that_nobody_waits_for_any_more_makes_way() -> None:
    world = World(Member("a"), Member("b"), rules=AT_ONCE)
    gone = world.ask("a")
    world.leave(gone)

    world.ask("b")

    assert world.ending == ["a"]


def test_waiting_requests_hear_how_many_are_ahead() -> None:
    world = loaded(members=(Member("a", parallel=2), Member("b")))
    first, _, third, fourth, other = (world.ask(model) for model in "aaaab")

    assert world.told == {
        third: Waiting("queued", 1),
        fourth: Waiting("queued", 2),
        other: Waiting("queued", 2),
    }
    world.leave(first)
    assert world.told[fourth] == Waiting("queued", 1)


def test_a_request_alone_before_a_loading_engine_has_nobody_ahead() -> None:
    world = loaded("a", "b")

    request = world.ask("b")

    assert world.told[request] == Waiting("loading", 0)


def test_who_waits_for_an_engine_that_crashed_waits_for_its_restart() -> None:
    world = loaded("a")
    served, waiting = world.ask("a"), world.ask("a")

    world.end("a", "it crashed")
    late = world.ask("a")

    assert world.refused == {late: RefuseDown(late, "it crashed")}
    world.leave(served)
    world.settle()
    assert waiting in world.granted


def test_who_waits_is_told_why_when_the_engine_crashes_again() -> None:
    world = loaded("a")
    world.end("a", "first")
    world.settle()
    served, waiting = world.ask("a"), world.ask("a")

    world.end("a", "second")

    assert world.refused == {waiting: RefuseDown(waiting, "second")}
    world.leave(served)
    world.vanish("a")
    assert world.loading == []
    world.pass_time(1.0)
    assert world.loading == ["a"]


def test_a_failed_load_tells_everybody_who_waited_for_it() -> None:
    world = World(Member("a"), Member("b"))
    first, second = world.ask("a"), world.ask("a")
    other = world.ask("b")

    world.end("a", "no such file")

    assert set(world.refused) == {first, second}
    world.settle()
    assert other in world.granted


def test_nothing_is_loaded_in_place_of_an_engine_that_comes_back_for_whom_it_served() -> None:
    world = loaded("a", "b")
    world.end("a", "first")
    world.settle()
    served = world.ask("a")
    world.end("a", "second")
    world.vanish("a")

    world.ask("b")

    assert world.processes == []
    world.leave(served)
    assert world.loading == ["b"]


def test_a_model_whose_place_was_taken_is_loaded_again_only_when_asked_for() -> None:
    world = loaded("a", "b")
    world.end("a", "first")
    world.settle()
    world.end("a", "second")
    world.vanish("a")
    world.ask("b")
    world.settle()
    world.serve_all()

    world.pass_time(600.0)
    alone = list(world.ready)
    world.ask("a")
    world.settle()

    assert alone == ["b"]
    assert world.ready == ["a"]


def test_a_model_that_may_be_tried_again_is_waited_for_although_another_comes_first() -> None:
    members = (Member("a", sets=("s",)), Member("c", sets=("s",)), Member("b"))
    world = loaded(members=members)
    for why in ("first", "second"):
        world.end("a", why)
        world.vanish("a")
        world.settle()
    served, claim = world.ask("c"), world.ask("b")
    world.settle()
    world.pass_time(1.0)

    again = world.ask("a")

    assert again in world.waiting
    world.leave(served)
    world.serve_all()
    assert world.granted == [served, claim, again]


def test_a_model_that_nobody_needs_is_unloaded_on_request_before_its_time() -> None:
    world = loaded("a", "b", rules=Rules(min_residency_s=3600.0))

    world.unload("a")

    assert (world.ending, world.kept) == (["a"], {})
    world.settle()
    assert world.processes == []


def test_who_serves_is_waited_for_pinned_or_absent_stays_and_it_is_said_why() -> None:
    world = loaded(members=(Member("a"), Member("b"), Member("p", pinned=True)))
    world.want("p")
    world.settle()
    request = world.ask("a")
    world.ask("b")

    for model in "abp":
        world.unload(model)
    first = dict(world.kept)
    world.leave(request)
    world.serve_all()
    world.unload("a")

    assert first == {"a": "serving", "b": "waited_for", "p": "pinned"}
    assert world.kept["a"] == "not_loaded"


def test_a_crashed_model_that_is_unloaded_on_request_does_not_come_back_by_itself() -> None:
    world = loaded("a")
    world.end("a")

    world.unload("a")
    world.settle()
    world.pass_time(1000.0)

    assert world.processes == []
    world.ask("a")
    assert world.loading == ["a"]


def test_a_load_that_nobody_waits_for_is_given_up_on_request() -> None:
    world = World(Member("a"))
    world.want("a")

    world.unload("a")

    assert world.ending == ["a"]


def test_who_makes_way_is_told_for_whom_and_who_is_unloaded_on_request_for_nobody() -> None:
    world = loaded("a", "b")
    world.ask("b")
    world.serve_all()

    world.unload("b")

    assert [effect for effect in world.effects if isinstance(effect, Stop)] == [
        Stop("a", "b"),
        Stop("b"),
    ]
