"""What deploy and canary plan, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.candidate import revision_name, tag_of
from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.observed import LATEST
from meshctl.plan.steps import CheckRelease, PlaceRevision, Plan, ShiftTraffic
from tests.builders import (
    ledger,
    ledger_run,
    release,
    request,
    revision,
    seen,
    split,
    tagged,
)


def acts(plan: Plan) -> list[str]:
    return [step.act.act for step in plan.steps]


def checks(plan: Plan) -> list[str]:
    return [step.act.where for step in plan.steps if isinstance(step.act, CheckRelease)]


def placed(plan: Plan) -> PlaceRevision:
    return next(step.act for step in plan.steps if isinstance(step.act, PlaceRevision))


def test_a_first_deploy_is_proved_before_it_is_opened() -> None:
    plan = make_deploy(request(access="public"), None)

    assert acts(plan) == [
        "stage-release", "create-service", "check-release", "shift-access", "check-release",
    ]  # fmt: skip
    assert checks(plan) == ["service", "public"]
    assert (plan.strategy, plan.from_release, plan.before) == ("create", None, None)


def test_a_private_first_deploy_is_never_opened() -> None:
    assert acts(make_deploy(request(), None)) == [
        "stage-release", "create-service", "check-release",
    ]  # fmt: skip


def test_a_new_release_is_placed_proved_shifted_and_proved_again() -> None:
    plan = make_deploy(request(rollout={"steps": [5, 100]}, take_traffic=True), seen())

    assert [step.kind for step in plan.steps] == [
        "stage", "place", "check", "shift", "check", "shift", "check", "retire",
    ]  # fmt: skip
    assert checks(plan) == ["tag", "tag", "service"]
    assert plan.strategy == "beside"


def test_every_check_of_a_rollout_asks_for_the_new_release_by_its_id() -> None:
    plan = make_deploy(request(rollout={"steps": [5, 100]}, take_traffic=True), seen())

    asked = [step.act.identity for step in plan.steps if isinstance(step.act, CheckRelease)]

    assert asked == [True, True, True]


def test_opening_is_asked_on_the_public_path_afterwards() -> None:
    for version in ("1", "2"):
        plan = make_deploy(request(version, access="public", take_traffic=True), seen())

        assert acts(plan)[acts(plan).index("shift-access") + 1] == "check-release"
        assert checks(plan)[-1] == "public"


def test_closing_is_asked_with_our_own_identity_afterwards() -> None:
    plan = make_deploy(request("1", take_traffic=True), seen(public=True))

    assert acts(plan) == ["shift-access", "check-release"]
    assert checks(plan) == ["service"]


def test_a_service_that_is_as_wanted_gives_the_empty_plan() -> None:
    plan = make_deploy(request("1", take_traffic=True), seen())

    assert plan.empty
    assert plan.strategy == "none"


def test_the_minimum_changes_without_a_new_revision() -> None:
    plan = make_deploy(request("1", scaling={"min": 1}, take_traffic=True), seen())

    assert acts(plan) == ["set-scaling", "check-release"]
    assert plan.strategy == "settings"


def test_a_release_that_is_there_already_is_not_made_again() -> None:
    there = seen(revision("v2", "2"), revision("v1"), traffic=split(v1=100))

    plan = make_deploy(request("2", take_traffic=True), there)

    assert placed(plan).revision == "v2"
    assert plan.revision == "v2"


def test_a_release_that_never_got_ready_gets_a_new_name() -> None:
    broken = revision("v2", "2", ready=False, failed=True)

    plan = make_deploy(
        request("2", take_traffic=True), seen(broken, revision("v1"), traffic=split(v1=100))
    )

    assert placed(plan).revision != "v2"


def test_a_tag_that_another_revision_has_goes_back_to_it() -> None:
    there = seen(traffic=(*split(v1=100), tagged("next", "v1")))

    plan = make_canary(request(tag="next", take_traffic=True), there)

    assert placed(plan).tagged == "v1"
    assert plan.steps[1].undo == "give tag next back to v1"


def test_LATEST_is_named_and_said() -> None:
    plan = make_deploy(request(), seen(traffic=split(LATEST=100)))

    shift = next(step.act for step in plan.steps if isinstance(step.act, ShiftTraffic))

    assert shift.found == split(v1=100)
    assert any("revisions are named" in note for note in plan.notes)


@pytest.mark.parametrize("verb", [make_deploy, make_canary])
def test_traffic_that_a_stranger_pinned_is_refused_unless_taken(verb: Any) -> None:
    theirs = seen(revision("v2", "9"), revision("v1"), traffic=split(v1=60, v2=40))

    refused, taken = verb(request(), theirs), verb(request(take_traffic=True), theirs)

    assert "pinned by a stranger: v1 60 %, v2 40 %" in refused.refused[0].message
    assert refused.steps == ()
    assert not taken.refused
    assert taken.found == split(v1=60, v2=40)


@pytest.mark.parametrize(
    ("written", "traffic", "pinned"),
    [
        (None, split(LATEST=100), False),
        (None, split(v1=100), True),
        ({"v1": 100}, split(v1=100), False),
        ({"v1": 100}, split(LATEST=100), False),
        ({"v2": 100}, split(v1=100), True),
        ({"v1": 90, "v2": 10}, split(v1=90, v2=10), False),
        ({"LATEST": 100}, split(LATEST=100), False),
        ({"LATEST": 100}, split(v1=100), True),
        ({}, split(v1=100), True),
    ],
)
def test_a_stranger_is_whoever_wrote_another_split_than_the_journal(
    written: dict[str, int] | None, traffic: Any, pinned: bool
) -> None:
    known = ledger(ledger_run("v1", traffic=written))

    plan = make_deploy(request(ledger=known), seen(traffic=traffic))

    assert bool(plan.refused) == pinned


def test_a_run_that_wrote_no_split_does_not_make_it_ours() -> None:
    known = ledger(ledger_run("v1"), ledger_run("v2", traffic=None, served=False, exit_code=8))

    assert make_deploy(request(ledger=known), seen(traffic=split(v9=100))).refused


@pytest.mark.parametrize("state", ["open", "paused"])
def test_an_unfinished_run_is_ended_first(state: str) -> None:
    known = ledger(ledger_run("v2", state=state, traffic={"v1": 100}))

    plan = make_deploy(request(ledger=known), seen())

    assert "is unfinished" in plan.refused[0].message
    assert plan.refused[0].hint == "`meshctl resume chat` or `meshctl abort chat`"


def test_a_service_in_which_nothing_serves_is_refused() -> None:
    broken = revision("v1", ready=False, failed=True)

    plan = make_deploy(request(), seen(broken, traffic=split(LATEST=100), latest_ready=None))

    assert "no revision of it ever got ready" in plan.refused[0].message


def test_a_canary_of_a_service_that_does_not_exist_names_deploy() -> None:
    plan = make_canary(request(), None)

    assert plan.refused[0].hint == "deploy it: `meshctl deploy chat`"


def test_a_canary_stops_before_any_traffic() -> None:
    plan = make_canary(request(take_traffic=True, keep=True), seen())

    assert acts(plan) == ["stage-release", "place-revision", "check-release"]
    assert plan.keep


def test_a_deploy_never_keeps_what_failed() -> None:
    assert not make_deploy(request(take_traffic=True, keep=True), seen()).keep


def test_a_mesh_without_its_argument_is_refused_with_the_reason() -> None:
    plan = make_deploy(request(args=[]), None)

    assert "os error 13" in plan.refused[0].message


def test_what_serves_is_asked_for_its_id_only_when_it_says_its_own() -> None:
    stale = revision("v1").model_copy(update={"release": "r-recomputed"})

    ours, theirs = (
        make_deploy(request(take_traffic=True), seen(serving))
        for serving in (revision("v1"), stale)
    )

    assert ours.before is not None and ours.before.identity
    assert theirs.before is not None and not theirs.before.identity


def test_names_fit_where_cloud_run_takes_them() -> None:
    long = request(name="a" * 40)

    name, tag = revision_name(long, release()), tag_of(long, release())

    assert len(name) <= 63 and name.startswith("a" * 40 + "-")
    assert len(tag) + 40 <= 46 and tag[0] == "c"


def test_LATEST_is_never_in_a_plan_but_as_what_was_there() -> None:
    plan = make_deploy(request(), seen(traffic=split(LATEST=100)))

    for step in plan.steps:
        assert LATEST not in step.act.model_dump_json()


def test_opening_a_service_is_a_change_and_so_is_its_minimum() -> None:
    plan = make_deploy(
        request(access="public", scaling={"min": 1}, take_traffic=True), seen(public=False)
    )

    told = {change.path: (change.before, change.after) for change in plan.changes}
    assert told["access"] == ("private", "public")
    assert told["scaling.min"] == ("0", "1")


def test_a_split_that_an_unfinished_run_may_have_written_is_not_called_a_strangers() -> None:
    open_run = ledger_run("v2", state="open", served=False, traffic=None)
    half = seen(revision("v2"), revision("v1"), traffic=split(v1=50, v2=50))

    plan = make_deploy(request("3", ledger=ledger(ledger_run("v1"), open_run)), half)

    assert len(plan.refused) == 1
    assert "unfinished" in plan.refused[0].message


def test_what_serves_with_a_failed_verdict_is_not_passed_over_in_silence() -> None:
    v1 = revision("v1", "1")
    failed = ledger_run("v1", verb="verify", verdict="fail", served=False, traffic=None)

    plan = make_deploy(request("1", ledger=ledger(ledger_run("v1"), failed)), seen(v1))

    assert plan.empty
    assert any("latest verdict on what serves is fail" in note for note in plan.notes)
