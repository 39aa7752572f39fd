"""The two gates of the quota: what they let through, what they refuse, and the ways out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.observed import ServiceScaling
from meshctl.plan.pools import POOLS, Holder, Limit, QuotaSeen, Size
from meshctl.plan.quota import concerns, must_ask, refused_early
from meshctl.plan.steps import Plan, Reason
from meshctl.plan.waysout import request_command
from tests import builders

GIB = 2**30
GPU = {"gpu": "nvidia-l4", "cpu": 8, "memory": "32Gi"}
SIZE = Size("nvidia-l4", False, 8000, 32 * GIB)
L4, L4_ZONAL, RTX, _, CPU, MEMORY = POOLS


def holder(service: str, *, warm: int = 0, running: int | None = 0, size: Size = SIZE) -> Holder:
    return Holder(service, "", size, warm, 1, running)


def quota(*holders: Holder, l4: int | None = 3, zonal: int | None = 0, **changed: Any) -> QuotaSeen:
    """Three L4 without redundancy and plenty of the rest, unless said otherwise."""
    values = {L4: l4, L4_ZONAL: zonal, CPU: 1_000_000, MEMORY: 1000 * GIB} | changed.pop("also", {})
    limits = tuple(
        Limit(pool, values.get(pool), why="" if values.get(pool) is not None else "no permission")
        for pool in POOLS
    )
    running = {(h.service, f"{h.service}-1"): h.running or 0 for h in holders}
    return QuotaSeen(**{"project": "local", "region": "local1", "limits": limits,
                        "holders": holders, "running": running} | changed)  # fmt: skip


def request(seen: QuotaSeen | None = None, **service: Any) -> Any:
    asked = builders.request("2", take_traffic=True, **{"resources": GPU, **service})
    return replace(asked, quota=seen)


def only_reason(plan: Plan) -> Reason:
    assert plan.steps == (), "a refused plan does nothing"
    assert len(plan.refused) == 1, plan.refused
    return plan.refused[0]


def test_a_plan_that_the_quota_lets_through_is_the_plan_and_says_what_is_in_use() -> None:
    before = make_deploy(request(), builders.seen())

    plan = make_deploy(request(quota(holder("chat", running=1))), builders.seen())

    assert plan.steps == before.steps and plan.steps
    assert any("1 of 3 in use of nvidia-l4 without" in note for note in plan.notes)
    assert any("not asked yet: quota" in note for note in before.notes)
    assert not any("not asked yet: quota" in note for note in plan.notes)


def test_more_instances_at_most_than_the_quota_are_refused_with_the_number_that_fits() -> None:
    plan = make_deploy(request(quota(), scaling={"max": 5}), builders.seen())

    reason = only_reason(plan)
    assert "scaling.max 5 may take 5 of nvidia-l4 without zonal redundancy" in reason.message
    assert "cheapest first: (1) write `scaling: {max: 3}`" in reason.hint
    assert "ask Google for 5: `meshctl quota local`" in reason.hint


def test_the_most_instances_are_compared_service_by_service_and_never_summed() -> None:
    others = [replace(holder(name), max=3) for name in ("a", "b", "c")]

    plan = make_deploy(request(quota(*others), scaling={"max": 3}), builders.seen())

    assert plan.refused == ()


def test_without_any_quota_the_other_redundancy_is_offered_where_there_is_some() -> None:
    plan = make_deploy(request(quota(l4=0, zonal=2)), builders.seen())

    assert "write `resources: {zonal_redundancy: true}`: 2 free" in only_reason(plan).hint
    assert "scaling: {max" not in only_reason(plan).hint


def test_a_service_of_another_target_that_is_the_same_region_is_no_stranger() -> None:
    wanted = request(quota(holder("there", warm=1), l4=1))
    there = builders.declared(wanted.fleet).model_copy(update={"target": ("again",)})
    fleet = wanted.fleet.model_copy(
        update={
            "targets": {**wanted.fleet.targets, "again": builders.place()},
            "services": {**wanted.fleet.services, "there": there},
        }
    )

    hint = only_reason(make_deploy(replace(wanted, fleet=fleet), builders.seen())).hint

    assert "services delete" not in hint


def test_a_service_without_a_gpu_of_its_own_yet_gains_nothing_by_sleeping() -> None:
    plain = holder("chat", warm=1, running=1, size=replace(SIZE, gpu=None))
    warm = builders.seen(scaling=ServiceScaling(min=1))

    hint = only_reason(make_deploy(request(quota(plain, holder("a", running=1), l4=1)), warm)).hint

    assert "--min=0" not in hint


def test_rtx_is_asked_for_in_thousandths_and_l4_in_whole_gpus() -> None:
    assert "--preferred-value=2000 " in request_command("p", "r", RTX, 2)
    assert "--preferred-value=2 " in request_command("p", "r", L4, 2)


def test_another_service_of_the_fleet_can_be_put_to_sleep_instead() -> None:
    wanted = request(quota(holder("chat-peer", warm=1), l4=1))
    peer = builders.declared(wanted.fleet)
    both = wanted.fleet.model_copy(update={"services": {"chat": peer, "chat-peer": peer}})

    hint = only_reason(make_deploy(replace(wanted, fleet=both), builders.seen())).hint

    assert "let chat-peer sleep" in hint
    assert "services delete" not in hint, "nobody deletes what the fleet declares"


def test_memory_and_processors_are_pools_too() -> None:
    few = quota(also={MEMORY: 40 * GIB, CPU: 12_000})

    plan = make_deploy(request(few, scaling={"max": 2}), builders.seen())

    assert [reason.message.split(" of ")[1].split(",")[0] for reason in plan.refused] == [
        "CPU", "memory",
    ]  # fmt: skip
    assert "may take 64 GiB of memory" in plan.refused[1].message
    assert "is 40 GiB" in plan.refused[1].message


def test_a_warm_service_without_a_free_slot_cannot_roll_beside_itself_and_is_told_how_to() -> None:
    warm = builders.seen(scaling=ServiceScaling(min=1))

    plan = make_deploy(request(quota(holder("chat", warm=1, running=1), l4=1)), warm)

    reason = only_reason(plan)
    assert "beside its 1 that runs: 0 free of 1 nvidia-l4" in reason.message
    assert "gcloud run services update chat --min=0 --region=local1" in reason.hint
    assert "wait until chat is idle, " not in reason.hint, "warm, it never gets idle"


def test_an_instance_that_nothing_keeps_is_waited_for_first() -> None:
    plan = make_deploy(request(quota(holder("chat", running=1), l4=1)), builders.seen())

    assert "cheapest first: (1) wait until chat is idle" in only_reason(plan).hint
    assert "--min=0" not in only_reason(plan).hint


def test_the_ways_out_stand_in_the_order_of_what_they_cost() -> None:
    seen = quota(holder("chat", warm=1, running=1), holder("old-demo", warm=1, running=2), zonal=1)
    warm = builders.seen(scaling=ServiceScaling(min=1))

    hint = only_reason(make_deploy(request(seen), warm)).hint

    ways = ("wait until old-demo", "let it sleep", "delete old-demo", "zonal_redundancy: true",
            "ask Google for")  # fmt: skip
    assert [hint.index(way) for way in ways] == sorted(hint.index(way) for way in ways)
    assert "`gcloud run services delete old-demo --region=local1 --project=local`" in hint


def test_the_other_redundancy_is_offered_only_while_it_has_room() -> None:
    zonal = holder("a", running=1, size=replace(SIZE, redundant=True))
    full = quota(zonal, holder("b", running=3), zonal=1)

    assert "zonal_redundancy" not in only_reason(make_deploy(request(full), builders.seen())).hint


def test_a_service_at_zero_holds_nothing_however_many_there_are() -> None:
    asleep = [holder(name) for name in ("a", "b", "c", "d")]

    assert make_deploy(request(quota(*asleep, l4=1)), builders.seen()).refused == ()


def test_a_service_of_another_pool_holds_nothing_of_this_one() -> None:
    other = holder("a", running=3, size=replace(SIZE, redundant=True))

    assert make_deploy(request(quota(other, l4=1)), builders.seen()).refused == ()


def test_what_a_minimum_keeps_counts_although_nobody_measured_it() -> None:
    blind = quota(holder("a", warm=1, running=None), l4=1, running=None, why_running="API off")

    assert "held by: a 1" in only_reason(make_deploy(request(blind), builders.seen())).message


def test_an_unknown_use_never_blocks_and_never_reads_as_fine() -> None:
    blind = quota(holder("a", running=None), l4=1, running=None, why_running="API off")

    plan = make_deploy(request(blind), builders.seen())

    assert plan.steps
    assert any("at least 0 of 1 in use" in n and "unknown: API off" in n for n in plan.notes)


def test_an_unknown_limit_never_blocks_and_is_said() -> None:
    plan = make_deploy(request(quota(holder("a", running=9), l4=None)), builders.seen())

    assert plan.steps
    assert any("unknown: no permission" in note for note in plan.notes)


def test_a_candidate_that_still_runs_needs_no_other_slot() -> None:
    of = builders.release(of=request().fleet)
    placed = builders.revision("v2", release=of.id, template=of.template)
    known = builders.seen(placed, builders.revision("v1"), traffic=builders.split(v1=100))
    running = {("chat", "v2"): 1, ("chat", "v1"): 0}

    plan = make_deploy(request(quota(holder("chat", running=1), l4=1, running=running)), known)

    assert plan.refused == () and plan.revision == "v2"


def test_a_first_release_needs_its_whole_minimum() -> None:
    seen = quota(holder("a", running=2))

    plan = make_deploy(request(seen, scaling={"min": 2, "max": 2}), None)

    assert "cannot start 2 more instances: 1 free of 3" in only_reason(plan).message


def test_a_canary_is_asked_the_same() -> None:
    plan = make_canary(request(quota(holder("chat", running=1), l4=1)), builders.seen())

    assert "cannot start" in only_reason(plan).message


@pytest.mark.parametrize(("minimum", "refused"), [(1, False), (2, True)])
def test_a_raised_minimum_needs_the_difference(minimum: int, refused: bool) -> None:
    wanted = request(scaling={"min": minimum, "max": 2})
    of = builders.release(of=wanted.fleet)
    alone = builders.seen(builders.revision("v2", release=of.id, template=of.template))
    tight = quota(holder("chat", running=1), holder("a", running=1), l4=2)

    plan = make_deploy(replace(wanted, quota=tight), alone)

    assert bool(plan.refused) is refused
    assert must_ask(wanted, make_deploy(wanted, alone))


def test_only_what_starts_something_large_asks() -> None:
    small = request(resources={})
    same = builders.seen(builders.revision("v2", release=builders.release(of=request().fleet).id))

    assert must_ask(request(), make_deploy(request(), builders.seen()))
    assert not must_ask(small, make_deploy(small, builders.seen()))
    assert not must_ask(request(), make_deploy(request(), same)), "up to date"


@pytest.mark.parametrize(
    ("resources", "most", "asks"),
    [
        ({}, 10, False),
        (GPU, 1, True),
        ({"memory": "10Gi", "cpu": 4}, 1, False),
        ({"memory": "10Gi", "cpu": 4}, 2, True),
    ],
)
def test_a_gpu_or_much_memory_concerns_the_quota(resources: Any, most: int, asks: bool) -> None:
    service = builders.declared(builders.fleet("1", resources=resources, scaling={"max": most}))

    assert concerns(service) is asks


def test_before_a_build_the_same_is_refused_and_what_fits_is_not() -> None:
    full = quota(holder("a", running=3))

    assert "held by: a 3" in refused_early(request(full))[0].message
    assert refused_early(request(quota())) == []
    assert refused_early(request(None)) == []
    assert "scaling.max 9" in refused_early(request(quota(), scaling={"max": 9}))[0].message
