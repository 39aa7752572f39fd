"""An undo on Cloud Run restores what the plan found, and leaves alone what somebody else set."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.errors import Refused
from meshctl.plan.observed import ServiceScaling
from meshctl.plan.steps import Act, SetScaling, ShiftAccess
from meshctl.plan.undo import undo_of
from tests.unit.targets.test_cloudrun_target import Region

SCALE = SetScaling(to=ServiceScaling(min=3), was=ServiceScaling(min=1))
INVOKER = "roles/run.invoker"


def region(*bindings: dict[str, Any]) -> Region:
    cloud = Region()
    cloud.api.policies["chat"] = {"etag": "p0", "bindings": list(bindings)}
    return cloud


def members(cloud: Region) -> list[str]:
    return [m for row in cloud.api.policies["chat"]["bindings"] for m in row["members"]]


def back(act: Act) -> Act:
    found = undo_of(act)
    assert found is not None
    return found


def test_a_minimum_goes_back_to_what_it_was() -> None:
    cloud = Region()
    cloud.api.services["chat"]["scaling"] = {"minInstanceCount": 1}
    cloud.perform(SCALE)

    cloud.perform(back(SCALE))

    assert cloud.api.services["chat"]["scaling"] == {"minInstanceCount": 1}


def test_a_minimum_that_somebody_else_set_since_is_left_alone() -> None:
    cloud = Region()
    cloud.perform(SCALE)
    cloud.api.services["chat"]["scaling"] = {"minInstanceCount": 7}

    with pytest.raises(Refused, match="the minimum was set to 7 by somebody else"):
        cloud.perform(back(SCALE))

    assert cloud.api.services["chat"]["scaling"] == {"minInstanceCount": 7}


@pytest.mark.parametrize("public", [True, False])
def test_access_that_was_as_wanted_when_it_was_found_has_no_way_back(public: bool) -> None:
    assert undo_of(ShiftAccess(public=public, found=public)) is None
    assert undo_of(ShiftAccess(public=public, found=not public)) == ShiftAccess(public=not public)


def test_the_journal_of_an_earlier_version_is_undone_as_it_was_then() -> None:
    assert undo_of(ShiftAccess(public=False)) == ShiftAccess(public=True)


def test_a_service_whose_callers_nobody_checks_keeps_its_policy_when_it_is_to_be_closed() -> None:
    everyone = {"role": INVOKER, "members": ["allUsers"]}
    cloud = region(everyone)
    cloud.api.services["chat"]["invokerIamDisabled"] = True

    with pytest.raises(Refused, match="still open"):
        cloud.perform(ShiftAccess(public=False, found=True))

    assert members(cloud) == ["allUsers"]


def test_everyone_comes_back_although_others_were_let_in_meanwhile() -> None:
    close = ShiftAccess(public=False, found=True)
    cloud = region({"role": INVOKER, "members": ["allUsers"]})
    cloud.perform(close)
    cloud.api.policies["chat"]["bindings"] = [
        {"role": INVOKER, "members": ["allAuthenticatedUsers"]}
    ]

    cloud.perform(back(close))

    assert sorted(members(cloud)) == ["allAuthenticatedUsers", "allUsers"]


def test_an_opening_under_a_condition_is_not_taken_away_for_it_could_not_be_given_back() -> None:
    hours = {"title": "office hours", "expression": "true"}
    cloud = region({"role": INVOKER, "members": ["allUsers"], "condition": hours})

    with pytest.raises(Refused, match="still open"):
        cloud.perform(ShiftAccess(public=False, found=True))

    assert members(cloud) == ["allUsers"]


@pytest.mark.parametrize(
    ("bindings", "told"),
    [
        ([], ""),
        ([{"role": INVOKER, "members": ["user:a", "allUsers"]}], ""),
        ([{"role": "roles/run.viewer", "members": ["allUsers"]}], ""),
        ([{"role": INVOKER, "members": ["allAuthenticatedUsers"]}],
         "allAuthenticatedUsers has roles/run.invoker"),
        ([{"role": "roles/run.admin", "members": ["allUsers"]}], "allUsers has roles/run.admin"),
        ([{"role": INVOKER, "members": ["allUsers"], "condition": {"title": "t"}}],
         "allUsers has roles/run.invoker under a condition"),
    ],
)  # fmt: skip
def test_what_holds_a_service_open_beside_everyone_as_invoker_is_seen(
    bindings: list[dict[str, Any]], told: str
) -> None:
    seen = region(*bindings).target.observe(["chat"]).services["chat"]

    assert seen is not None and seen.held_open == told


def test_a_switched_off_check_holds_it_open() -> None:
    cloud = Region()
    cloud.api.services["chat"]["invokerIamDisabled"] = True

    seen = cloud.target.observe(["chat"]).services["chat"]

    assert seen is not None and seen.public
    assert seen.held_open == "its check of invokers is switched off"
