"""What cutover and rollback plan, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.move import Move, make_cutover, make_rollback
from meshctl.plan.observed import ServiceScaling, ServiceSeen
from meshctl.plan.steps import Plan, ShiftTraffic
from meshctl.state.ledger import Run
from tests.builders import ledger, ledger_run, revision, seen, split, tagged

V1, V2, V3 = revision("v1", "1"), revision("v2", "2"), revision("v3", "3")
STAGED = seen(V2, V1, traffic=(*split(v1=100), tagged("c", "v2")))
VERIFIED = (
    ledger_run("v1"),
    ledger_run("v2", verb="canary", served=False, traffic={"v1": 100}),
)


def move(*runs: Run, **changed: Any) -> Move:
    return Move("chat", "chat", "local", ledger(*(runs or VERIFIED)), **changed)


def acts(plan: Plan) -> list[str]:
    return [step.act.act for step in plan.steps]


def goal(plan: Plan) -> dict[str, int]:
    shift = next(step.act for step in plan.steps if isinstance(step.act, ShiftTraffic))
    return {row.revision: row.percent for row in shift.to}


def test_a_cutover_shifts_by_steps_and_proves_each() -> None:
    plan = make_cutover(move(steps=(5, 100)), STAGED, V2)

    assert acts(plan) == [
        "shift-traffic", "check-release", "shift-traffic", "check-release", "retire-tag",
    ]  # fmt: skip
    assert goal(plan) == {"v1": 95, "v2": 5}


def test_a_cutover_to_what_serves_already_is_empty() -> None:
    assert make_cutover(move(), STAGED, V1).empty


def test_following_LATEST_comes_before_tidying_up() -> None:
    plan = make_cutover(move(follow_latest=True), STAGED, V2)

    assert acts(plan)[-2:] == ["shift-traffic", "retire-tag"]


def test_following_LATEST_twice_is_empty() -> None:
    follows = seen(V2, V1, traffic=split(LATEST=100))

    assert make_cutover(move(follow_latest=True), follows, V2).empty


def test_LATEST_is_followed_only_where_it_leads_to_what_was_verified() -> None:
    plan = make_cutover(move(follow_latest=True), STAGED, V1)

    assert "latest ready revision is v2, not v1" in plan.refused[0].message


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((ledger_run("v1"),), "it was never verified"),
        ((ledger_run("v2", verdict="fail", served=False),), "its latest verdict is fail"),
        ((ledger_run("v2"), ledger_run("v2", verb="verify", verdict="unclear", served=False)),
         "its latest verdict is unclear"),
    ],
)  # fmt: skip
def test_what_did_not_pass_gets_no_traffic(runs: tuple[Run, ...], said: str) -> None:
    plan = make_cutover(move(*runs), STAGED, V2)

    assert plan.steps == ()
    assert said in plan.refused[0].message
    assert not make_cutover(move(*runs, allow_unverified=True), STAGED, V2).refused


def test_a_revision_that_is_not_ready_gets_no_traffic() -> None:
    plan = make_cutover(move(allow_unverified=True), STAGED, revision("v2", ready=False))

    assert "not ready" in plan.refused[0].message


def test_an_unfinished_deploy_is_ended_before_a_cutover_but_a_canary_is_not() -> None:
    deploy = ledger_run("v2", state="paused", served=False)
    canary = ledger_run("v2", verb="canary", state="paused", served=False, verdict="pass")

    assert make_cutover(move(deploy, allow_unverified=True), STAGED, V2).refused
    assert not make_cutover(move(canary), STAGED, V2).refused


SERVED = (ledger_run("v1"), ledger_run("v2"), ledger_run("v3"))
ALL = seen(V3, V2, V1)


def rolled(*runs: Run, service: ServiceSeen = ALL, to: str | None = None) -> Plan:
    return make_rollback(move(*runs), service, to)


def back(serving: str, start: str) -> Run:
    return ledger_run(serving, verb="rollback", from_revision=start)


def test_a_rollback_shifts_first_and_asks_after() -> None:
    plan = rolled(*SERVED)

    assert acts(plan) == ["shift-traffic", "check-release"]
    assert goal(plan) == {"v2": 100}


def test_a_rollback_skips_what_was_rolled_back_from() -> None:
    runs = (ledger_run("v1"), ledger_run("v2"), back("v1", "v2"), ledger_run("v3"))

    assert goal(rolled(*runs)) == {"v1": 100}


def test_a_rollback_that_did_not_prove_itself_left_its_start_behind_all_the_same() -> None:
    stayed = back("v1", "v2").model_copy(update={"served": False, "exit_code": 4})
    runs = (ledger_run("v1"), ledger_run("v2"), stayed, ledger_run("v3"))

    assert goal(rolled(*runs)) == {"v1": 100}


def test_a_rollback_that_was_aborted_left_nothing_behind() -> None:
    aborted = back("v1", "v2").model_copy(update={"served": False, "exit_code": 0})
    runs = (ledger_run("v1"), ledger_run("v2"), aborted, ledger_run("v3"))

    assert goal(rolled(*runs)) == {"v2": 100}


def test_two_rollbacks_go_back_two_releases() -> None:
    twice = rolled(*SERVED, back("v2", "v3"), service=seen(V3, V2, V1, traffic=split(v2=100)))

    assert goal(twice) == {"v1": 100}


def test_what_was_rolled_back_from_and_proved_itself_again_counts_again() -> None:
    runs = (ledger_run("v1"), ledger_run("v2"), back("v1", "v2"), ledger_run("v2"),
            ledger_run("v3"))  # fmt: skip

    assert goal(rolled(*runs)) == {"v2": 100}


@pytest.mark.parametrize("shares", [{"v2": 95, "v3": 5}, {"v2": 50, "v3": 50}, {"v3": 100}])
@pytest.mark.parametrize(("state", "code"), [("open", None), ("fenced", None), ("closed", 4)])
def test_a_rollout_that_stands_half_way_goes_back_to_where_it_began(
    shares: dict[str, int], state: str, code: int | None
) -> None:
    half = ledger_run("v3", state=state, exit_code=code, served=False, verdict=None,
                      traffic=None, from_revision="v2")  # fmt: skip
    service = seen(V3, V2, V1, traffic=split(**shares))

    plan = rolled(ledger_run("v1"), ledger_run("v2"), half, service=service)

    assert goal(plan) == {"v2": 100}


def test_a_rollout_back_to_an_old_release_goes_back_to_the_newer_one() -> None:
    half = ledger_run("v1", state="fenced", exit_code=None, served=False, from_revision="v2")
    service = seen(V3, V2, V1, traffic=split(v1=100))

    assert goal(rolled(ledger_run("v1"), ledger_run("v2"), half, service=service)) == {"v2": 100}


def test_a_rollout_that_was_taken_back_changes_nothing_for_a_rollback() -> None:
    failed = ledger_run("v3", exit_code=3, served=False, verdict="fail", from_revision="v2")
    service = seen(V3, V2, V1, traffic=split(v2=100))

    assert goal(rolled(ledger_run("v1"), ledger_run("v2"), failed, service=service)) == {"v1": 100}


def open_deploy(of: str, start: str) -> Run:
    return ledger_run(of, state="open", exit_code=None, served=False, verdict=None, traffic=None,
                      from_revision=start)  # fmt: skip


def test_a_rollback_past_where_a_rollout_began_says_what_abort_would_do() -> None:
    begun = open_deploy("v3", "v2")
    service = seen(V3, V2, V1, traffic=split(v2=100))

    plan = rolled(ledger_run("v1"), ledger_run("v2"), begun, service=service)

    assert goal(plan) == {"v1": 100}
    assert plan.notes[0] == (
        f"takes over run {begun.run} (deploy), which is unfinished; `meshctl abort chat` only "
        "undoes that run: v2 keeps the traffic"
    )


def test_a_rollback_to_where_a_rollout_began_says_that_abort_leads_there_too() -> None:
    service = seen(V3, V2, V1, traffic=split(v2=95, v3=5))

    plan = rolled(ledger_run("v1"), ledger_run("v2"), open_deploy("v3", "v2"), service=service)

    assert goal(plan) == {"v2": 100}
    assert "`meshctl abort chat` leads to the same revision" in plan.notes[0]


def test_a_rollback_that_goes_nowhere_names_the_abort_of_what_is_unfinished() -> None:
    begun = open_deploy("v3", "v2")

    plan = rolled(ledger_run("v2"), begun, service=seen(V3, V2, traffic=split(v2=100)))

    assert [reason.hint for reason in plan.refused] == [
        f"`meshctl abort chat` undoes run {begun.run} (deploy); or see what once passed and "
        "served: `meshctl history chat`"
    ]


def test_a_rollback_with_nothing_unfinished_says_nothing_of_abort() -> None:
    assert not any("abort" in note for note in rolled(*SERVED).notes)


def test_a_rollback_restores_the_minimum_of_that_time() -> None:
    runs = (ledger_run("v2", min_instances=2), ledger_run("v3"))
    service = ALL.model_copy(update={"scaling": ServiceScaling(min=0)})

    assert acts(rolled(*runs, service=service)) == ["shift-traffic", "set-scaling", "check-release"]


def test_a_rollback_to_a_named_release() -> None:
    assert goal(rolled(*SERVED, to=V1.release)) == {"v1": 100}


@pytest.mark.parametrize(
    ("runs", "service", "to", "said"),
    [
        ((ledger_run("v3"),), ALL, None, "no earlier release"),
        (SERVED, seen(V3, V1), None, f"revision v2 of release {V2.release} is gone"),
        (SERVED, ALL, "r-unknown", "no release r-unknown"),
        (
            (ledger_run("v3"), ledger_run("v2", served=False)),
            ALL,
            V2.release,
            f"no release {V2.release}",
        ),
    ],
)
def test_a_rollback_that_leads_nowhere_is_refused_before_anything_stops(
    runs: tuple[Run, ...], service: ServiceSeen, to: str | None, said: str
) -> None:
    plan = rolled(*runs, service=service, to=to)

    assert plan.steps == ()
    assert said in plan.refused[0].message
