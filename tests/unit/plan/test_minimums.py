"""Where a minimum is written, whether that makes a revision, and what is said of it."""

from __future__ import annotations

from typing import Any

from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.observed import ServiceScaling
from meshctl.plan.steps import CreateService, PlaceRevision, Plan, SetScaling
from tests.builders import release, request, revision, seen, split, tagged, template

PER_REVISION: dict[str, Any] = {"min": 1, "max": 2, "min_per": "revision"}


def said(plan: Plan, words: str) -> bool:
    return any(words in note for note in plan.notes)


def kinds(plan: Plan) -> set[str]:
    return {step.act.act for step in plan.steps}


def test_a_minimum_of_the_service_is_no_part_of_the_release() -> None:
    one, other = release("1", scaling={"min": 0, "max": 2}), release("1", scaling=PER_REVISION)

    assert release("1", scaling={"min": 2, "max": 2}).id == one.id
    assert other.id != one.id
    assert (one.template.min_instances, other.template.min_instances) == (0, 1)


def test_changing_the_minimum_of_the_service_makes_no_revision_and_says_so() -> None:
    plan = make_deploy(request("1", scaling={"min": 1}, take_traffic=True), seen())

    assert kinds(plan) == {"set-scaling", "check-release"}
    assert said(plan, "minimum of the service 0 -> 1: makes no revision; it holds at once")


def test_changing_the_minimum_per_revision_makes_a_revision_and_says_so() -> None:
    there = seen(revision("v1", template=release("1", scaling={"max": 2}).template))

    plan = make_deploy(request("1", scaling=PER_REVISION, take_traffic=True), there)

    assert "place-revision" in kinds(plan)
    assert said(plan, "minimum per revision 0 -> 1: is a part of the release")
    assert said(plan, "each billed by itself")


def test_going_over_to_a_minimum_per_revision_takes_that_of_the_service_away() -> None:
    there = seen(scaling=ServiceScaling(min=1, max=3))

    plan = make_deploy(request("1", scaling=PER_REVISION, take_traffic=True), there)

    scaled = next(step.act for step in plan.steps if isinstance(step.act, SetScaling))
    placed = next(step.act for step in plan.steps if isinstance(step.act, PlaceRevision))
    assert (scaled.was, scaled.to) == (ServiceScaling(min=1, max=3), ServiceScaling(min=0, max=3))
    assert placed.release.template.min_instances == 1
    assert plan.min_instances == 0


def test_a_new_service_gets_its_minimum_where_it_was_asked_for() -> None:
    plan = make_deploy(request("1", scaling=PER_REVISION), None)

    created = next(step.act for step in plan.steps if isinstance(step.act, CreateService))
    assert (created.scaling.min, created.release.template.min_instances) == (0, 1)


def test_a_canary_says_nothing_of_a_minimum_that_it_does_not_set() -> None:
    plan = make_canary(request("2", scaling={"min": 1}, take_traffic=True), seen())

    assert not said(plan, "minimum of the service")


def test_a_warm_candidate_is_named_whoever_made_it() -> None:
    warm = revision("v9", "9", template=template(min_instances=2, max_instances=2))
    there = seen(revision("v1"), warm, traffic=(*split(v1=100), tagged("theirs", "v9")))

    plan = make_deploy(request("1", take_traffic=True), there)

    assert said(plan, "revision v9 (tag theirs) gets no traffic")
    assert said(plan, "keeps 2 instances warm")
    assert said(plan, "`meshctl gc chat --tag theirs` ends that")


def test_a_warm_revision_without_a_tag_is_ended_otherwise() -> None:
    warm = revision("v9", "9", template=template(min_instances=1))
    there = seen(revision("v1"), warm, traffic=(*split(v1=100), *split(v9=0)))

    plan = make_deploy(request("1", take_traffic=True), there)

    assert said(plan, "`gcloud run services update-traffic chat --to-revisions=v9=0` ends that")


def test_what_others_wrote_at_the_service_is_shown_and_kept() -> None:
    there = seen(scaling=ServiceScaling(min=0, max=3, manual=None))

    plan = make_deploy(request("1", scaling={"min": 1}, take_traffic=True), there)

    scaled = next(step.act for step in plan.steps if isinstance(step.act, SetScaling))
    assert said(plan, "at most 3 instances")
    assert scaled.to == ServiceScaling(min=1, max=3)


def test_a_count_set_by_hand_makes_minimums_idle_and_is_said() -> None:
    plan = make_deploy(request("1", take_traffic=True), seen(scaling=ServiceScaling(manual=4)))

    assert said(plan, "runs 4 instances by hand")
