"""A service that meshctl could not close, or not open again as it was, is refused at once."""

from __future__ import annotations

from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.steps import ShiftAccess
from tests.builders import request, seen

UNCHECKED = "its check of invokers is switched off"


def test_what_holds_a_service_open_is_named_before_anything_is_placed() -> None:
    plan = make_deploy(
        request(access="private", take_traffic=True), seen(public=True, held_open=UNCHECKED)
    )

    [reason] = plan.refused
    assert (plan.steps, reason.message) == ((), f"chat cannot be closed: {UNCHECKED}")
    assert "`gcloud run services update chat --invoker-iam-check`" in reason.hint
    assert "access: public" in reason.hint


def test_a_service_that_stays_public_does_not_mind() -> None:
    plan = make_deploy(
        request(access="public", take_traffic=True), seen(public=True, held_open=UNCHECKED)
    )

    assert plan.refused == ()
    assert not any(isinstance(step.act, ShiftAccess) for step in plan.steps)


def test_a_canary_does_not_touch_access_and_goes_on() -> None:
    plan = make_canary(
        request(access="private", take_traffic=True), seen(public=True, held_open=UNCHECKED)
    )

    assert plan.refused == ()


def test_a_step_of_access_remembers_what_was_found() -> None:
    closing = make_deploy(request(access="private", take_traffic=True), seen(public=True))
    opening = make_deploy(request(access="public", take_traffic=True), seen(public=False))

    acts = [step.act for plan in (closing, opening) for step in plan.steps]
    assert [act for act in acts if isinstance(act, ShiftAccess)] == [
        ShiftAccess(public=False, found=True),
        ShiftAccess(public=True, found=False),
    ]
