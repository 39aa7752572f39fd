"""Plans: safe in every prefix, undone to what was found, and the same for the same facts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from meshctl.plan import traffic
from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.move import Move, make_cutover, make_rollback
from meshctl.plan.observed import ServiceScaling, ServiceSeen, Split
from meshctl.plan.steps import (
    CheckRelease,
    CreateService,
    PlaceRevision,
    Plan,
    RetireService,
    RetireTag,
    SetScaling,
    ShiftAccess,
    ShiftTraffic,
)
from meshctl.plan.undo import undo_of
from tests.builders import ledger, ledger_run, request, revision, seen, split, tagged
from tests.fakes.fake_ground import World

RELEASES = ("1", "2", "3", "4")
STEPS = ((100,), (5, 100), (1, 10, 50, 100))


@st.composite
def services(draw: st.DrawFn) -> ServiceSeen:
    """A service with some revisions, of which one to three share the traffic."""
    count = draw(st.integers(1, 4))
    known = [revision(f"v{n}", RELEASES[n - 1]) for n in range(count, 0, -1)]
    serving = draw(st.lists(st.sampled_from([r.name for r in known]), min_size=1, max_size=3,
                            unique=True))  # fmt: skip
    shares = {name: 100 // len(serving) for name in serving}
    shares[serving[0]] += 100 - sum(shares.values())
    follows = len(serving) == 1 and draw(st.booleans())
    rows = split(LATEST=100) if follows else split(**shares)
    tags = draw(st.lists(st.sampled_from([r.name for r in known]), max_size=2, unique=True))
    rows = (*rows, *(tagged(f"t{n}", name) for n, name in enumerate(tags)))
    return seen(
        *known,
        traffic=rows,
        scaling=ServiceScaling(min=draw(st.integers(0, 2))),
        public=draw(st.booleans()),
    )


wishes = st.fixed_dictionaries(
    {
        "version": st.sampled_from(RELEASES),
        "access": st.sampled_from(["public", "private"]),
        "scaling": st.builds(lambda n: {"min": n, "max": 3}, st.integers(0, 2)),
        "rollout": st.builds(lambda steps: {"steps": list(steps)}, st.sampled_from(STEPS)),
    }
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, ServiceSeen]:
    """A plan of any verb, and what it was made from."""
    service = draw(services())
    verb = draw(st.sampled_from(["deploy", "canary", "cutover", "rollback"]))
    if verb in ("deploy", "canary"):
        wish: dict[str, Any] = dict(draw(wishes))
        asked = request(wish.pop("version"), take_traffic=True, **wish)
        return (make_deploy if verb == "deploy" else make_canary)(asked, service), service
    return draw(moves(service, verb)), service


@st.composite
def moves(draw: st.DrawFn, service: ServiceSeen, verb: str) -> Plan:
    runs = [ledger_run(r.name, release=r.release) for r in reversed(service.revisions)]
    move = Move("chat", "chat", "local", ledger(*runs), steps=draw(st.sampled_from(STEPS)))
    if verb == "rollback":
        return make_rollback(move, service, None)
    return make_cutover(move, service, draw(st.sampled_from(service.revisions)))


@given(plans())
def test_no_plan_retires_what_has_traffic(made: tuple[Plan, ServiceSeen]) -> None:
    plan, _ = made

    retired = [step.act for step in plan.steps if step.kind == "retire"]

    assert all(isinstance(act, RetireTag) for act in retired)
    assert not any(isinstance(step.act, RetireService) for step in plan.steps)


@given(plans())
def test_no_revision_gets_more_traffic_before_a_check_on_it(
    made: tuple[Plan, ServiceSeen],
) -> None:
    plan, service = made
    checked: set[str] = set()
    now = traffic.percents(traffic.named(service))
    placed = {s.act.revision for s in plan.steps if isinstance(s.act, PlaceRevision)}
    for step in plan.steps:
        if isinstance(step.act, CheckRelease):
            checked.add(step.act.revision)
        if isinstance(step.act, ShiftTraffic):
            to = traffic.percents(step.act.to)
            more = {name for name in to if to[name] > now.get(name, 0)}
            assert not (more & placed) - checked
            now = to


@given(plans())
def test_every_shift_is_followed_by_a_check_before_the_next_one(
    made: tuple[Plan, ServiceSeen],
) -> None:
    plan, _ = made
    unproved = False
    for step in plan.steps:
        if step.kind == "shift":
            assert not unproved, step.id
            unproved = True
        if step.kind == "check":
            unproved = False
    assert not unproved


@given(plans())
def test_every_shift_starts_where_the_last_one_ended_and_sums_to_100(
    made: tuple[Plan, ServiceSeen],
) -> None:
    plan, service = made
    now = traffic.named(service)
    for step in plan.steps:
        if isinstance(step.act, ShiftTraffic):
            assert traffic.same(step.act.was, now)
            assert sum(row.percent for row in step.act.to) == 100
            now = step.act.to


@given(plans())
def test_undo_of_any_prefix_restores_what_was_observed(made: tuple[Plan, ServiceSeen]) -> None:
    plan, service = made
    for length in range(len(plan.steps) + 1):
        found = Model(service)
        prefix = [step.act for step in plan.steps[:length] if not isinstance(step.act, RetireTag)]
        for act in prefix:
            found.perform(act)
        for act in reversed(prefix):
            back = undo_of(act)
            if back:
                found.perform(back)

        assert found == Model(service)


class Model:
    """The little of a service that acts change."""

    def __init__(self, service: ServiceSeen) -> None:
        self.split: Split = traffic.named(service)
        self.tags = {row.tag: row.revision for row in service.traffic if row.tag}
        self.min, self.public = service.scaling.min, service.public

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)

    def perform(self, act: Any) -> None:
        match act:
            case PlaceRevision(tag=tag, revision=revision):
                self.tags[tag] = revision
            case RetireTag(tag=tag, back_to=back_to):
                self.tags.pop(tag, None)
                self.tags |= {tag: back_to} if back_to else {}
            case ShiftTraffic(to=to):
                self.split = to
            case SetScaling(to=to):
                self.min = to.min
            case ShiftAccess(public=public):
                self.public = public
            case CreateService():
                raise AssertionError("the service exists")


@given(services(), wishes)
def test_equal_facts_give_byte_equal_plans(service: ServiceSeen, wish: dict[str, Any]) -> None:
    one, other = (
        make_deploy(request(take_traffic=True, **wish), service).model_dump_json() for _ in range(2)
    )

    assert one == other


@given(plans())
def test_a_plan_is_the_same_after_the_journal(made: tuple[Plan, ServiceSeen]) -> None:
    plan, _ = made

    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@given(plans())
def test_every_step_that_changes_something_says_its_way_back(
    made: tuple[Plan, ServiceSeen],
) -> None:
    plan, _ = made

    assert [s.id for s in plan.steps] == [f"{n:02d}-{s.kind}" for n, s in enumerate(plan.steps, 1)]
    if plan.verb == "rollback":  # it stays where it shifted to, and promises nothing
        assert not any(s.undo for s in plan.steps)
    else:
        assert all(bool(s.undo) == (undo_of(s.act) is not None) for s in plan.steps)


@given(wishes, wishes)
def test_after_a_deploy_the_plan_is_empty(first: dict[str, Any], then: dict[str, Any]) -> None:
    world = World()
    for wish in (first, then):
        assert world.deploy(**wish).exit_code == 0

        again = world.deploy(**wish)

        assert (again.exit_code, again.run) == (0, "")
