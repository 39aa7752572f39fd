"""How many instances are kept, and what that costs now and after a plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from meshctl.plan.cost import Held, ceiling, cost_of, floor, held_of, seen_cost
from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.observed import LATEST, ServiceScaling
from meshctl.plan.prices import Prices
from meshctl.plan.request import Request
from meshctl.spec.model import PriceList, RegionPrices
from tests.builders import request, revision, seen, split, tagged, template

PRICES = Prices(
    region="local1", as_of="2026-11-30", source="here", rates=RegionPrices(vcpu=1 / 3600, gib=0.0)
)
"""An instance costs as many USD an hour as it has processors."""


def held(name: str, percent: int = 0, *tags: str, **changed: Any) -> Held:
    given = {"gpu": None, "cpu": "1", "max_instances": 10} | changed
    return Held(name, template(**given), percent, tags)


@pytest.mark.parametrize(
    ("minimum", "percents", "kept"),
    [
        (1, [100], [1]),
        (3, [50, 50], [2, 1]),
        (1, [5, 95], [1, 0]),
        (0, [100], [0]),
        (4, [75, 25], [3, 1]),
    ],
)
def test_the_minimum_of_a_service_is_divided_by_traffic_the_first_listed_first(
    minimum: int, percents: list[int], kept: list[int]
) -> None:
    rows = [held(f"v{n}", percent) for n, percent in enumerate(percents)]

    assert [floor(row, rows, ServiceScaling(min=minimum)) for row in rows] == kept


@pytest.mark.parametrize(
    ("service", "template_min", "kept"),
    [
        (ServiceScaling(min=1), 3, 3),
        (ServiceScaling(min=4), 3, 4),
        (ServiceScaling(min=1, max=2), 3, 2),
        (ServiceScaling(manual=5), 3, 5),
    ],
)
def test_of_both_minimums_the_larger_holds_below_the_smaller_maximum(
    service: ServiceScaling, template_min: int, kept: int
) -> None:
    row = held("v1", 100, min_instances=template_min)

    assert floor(row, [row], service) == kept


def test_a_maximum_of_the_service_binds_below_that_of_the_template() -> None:
    row = held("v1", 100, max_instances=5)

    assert ceiling(row, [row], ServiceScaling(max=3)) == 3
    assert ceiling(row, [row], ServiceScaling(max=9)) == 5
    assert ceiling(row, [row], ServiceScaling()) == 5


def test_a_candidate_is_warm_by_its_own_minimum_and_not_by_that_of_the_service() -> None:
    rows = [held("v1", 100), held("v2", 0, "next", min_instances=2), held("v3", 0, "old")]

    cost = cost_of(rows, ServiceScaling(min=1), PRICES)

    assert [(one.revision, one.tags, one.instances, one.usd_per_hour) for one in cost.warm] == [
        ("v2", ("next",), 2, pytest.approx(2.0))
    ]
    assert (cost.idle_instances, cost.idle_usd_per_hour) == (1, pytest.approx(1.0))
    assert cost.idle_with_warm == pytest.approx(3.0)


def test_a_row_of_no_percent_keeps_a_revision_warm_like_a_tag() -> None:
    listed = seen(
        revision("v1"),
        revision("v2", "2", template=template(gpu=None, min_instances=1)),
        traffic=(*split(v1=100), *split(v2=0)),
    )

    assert [one.revision for one in seen_cost(listed, PRICES).warm] == ["v2"]


def test_an_unknown_price_makes_the_sum_unknown_but_no_instance_is_free() -> None:
    nothing = PRICES.model_copy(update={"rates": RegionPrices()})

    asleep = cost_of([held("v1", 100)], ServiceScaling(), nothing)
    warm = cost_of([held("v1", 100)], ServiceScaling(min=1), nothing)

    assert (asleep.idle_usd_per_hour, asleep.full_usd_per_hour) == (0.0, None)
    assert warm.idle_usd_per_hour is None
    assert warm.idle_with_warm is None


def test_LATEST_and_its_revision_are_one() -> None:
    rows = (*split(LATEST=100), tagged("now", "v1"))

    assert held_of(seen(traffic=rows)) == (
        Held("v1", revision("v1").template, percent=100, tags=("now",)),
    )
    assert rows[0].revision == LATEST


def wish(version: str, **scaling: Any) -> Request:
    """A wish in a fleet that has prices of its own: one USD an hour for an instance."""
    asked = request(version, take_traffic=True, scaling=scaling)
    prices = PriceList.model_validate(
        {"as_of": "2026-11-30", "source": "here",
         "regions": {"local1": {"vcpu": 1 / 3600, "gib": 0.0}}}
    )  # fmt: skip
    return dataclasses.replace(asked, fleet=asked.fleet.model_copy(update={"prices": prices}))


def test_a_plan_says_what_a_higher_minimum_costs() -> None:
    cost = make_deploy(wish("1", min=2, max=3), seen()).cost

    assert cost is not None and cost.before is not None and cost.after is not None
    assert (cost.before.idle_usd_per_hour, cost.after.idle_usd_per_hour) == (0.0, 2.0)
    assert cost.after.full_usd_per_hour == pytest.approx(3.0)


def test_a_first_deploy_costs_nothing_before() -> None:
    cost = make_deploy(wish("1", min=1, max=1), None).cost

    assert cost is not None and cost.after is not None
    assert (cost.before, cost.after.idle_usd_per_hour) == (None, 1.0)


def test_a_canary_with_a_minimum_per_revision_costs_as_long_as_it_has_its_tag() -> None:
    asked = wish("2", min=1, max=1, min_per="revision")

    canary, deploy = make_canary(asked, seen()), make_deploy(asked, seen())

    assert canary.cost is not None and canary.cost.after is not None
    assert deploy.cost is not None and deploy.cost.after is not None
    assert [one.revision for one in canary.cost.after.warm] == [canary.revision]
    assert (canary.cost.after.idle_usd_per_hour, deploy.cost.after.idle_usd_per_hour) == (0, 1.0)
    assert deploy.cost.after.warm == ()


def test_a_refused_plan_foresees_no_cost() -> None:
    theirs = seen(revision("v2", "9"), revision("v1"), traffic=split(v1=60, v2=40))

    assert make_deploy(request(), theirs).cost is None
