"""How services are read: with few calls, patiently, and never as empty when nobody answered."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.outside.gcp import ApiError, LostAnswer
from meshctl.plan.observed import TargetSeen
from meshctl.plan.steps import CreateService
from meshctl.targets.cloudrun.target import CloudRunTarget
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp
from tests.fakes.fake_run_api import FakeRunApi
from tests.unit.targets.test_cloudrun_target import CREATE, OPEN, PLACE, RUN

ONE = ["services.get", "revisions.list"]
LOST = LostAnswer("the cloud answered UNAVAILABLE: not now")


class Fleet:
    """A region with so many services; `a` is one of them and has a second revision."""

    def __init__(self, *names: str) -> None:
        self.api, self.clock, self.notes = FakeRunApi(), FakeClock(), list[str]()
        self.target = CloudRunTarget(
            "local", self.api, FakeHttp({}), self.clock, note=self.notes.append, jitter=lambda: 0.0
        )
        for name in names:
            create = CREATE.model_copy(update={"revision": f"{name}-1"})
            assert isinstance(create, CreateService)
            self.target.perform(name, create, RUN)
        self.target.perform("a", PLACE.model_copy(update={"revision": "a-2"}), RUN)
        self.api.calls.clear()

    def observe(self, *names: str, **how: Any) -> TargetSeen:
        return self.target.observe(names, **how)


def test_many_services_are_read_with_two_calls() -> None:
    fleet = Fleet("a", *(f"s{n}" for n in range(99)))
    names = ["a", *(f"s{n}" for n in range(99))]

    seen = fleet.observe(*names, access=False)

    assert fleet.api.calls == ["services.list", "revisions.list -"]
    assert set(seen.services) == set(names)


@pytest.mark.parametrize("others", [0, 1, 7])
def test_however_it_is_read_the_same_is_seen(others: int) -> None:
    fleet = Fleet("a", "b", *(f"s{n}" for n in range(others)))
    fleet.target.perform("b", OPEN, RUN)

    both = fleet.observe("a", "b", "missing")

    one_by_one = {n: fleet.observe(n).services[n] for n in ("a", "b", "missing")}
    assert both.services == one_by_one
    assert both.services["missing"] is None
    a = both.services["a"]
    assert a is not None and [r.name for r in a.revisions] == ["a-2", "a-1"]


def test_a_region_that_is_mostly_others_is_not_read_whole() -> None:
    fleet = Fleet("a", "b", *(f"s{n}" for n in range(7)))

    fleet.observe("a", "b", access=False)

    assert fleet.api.calls == ["services.list", "revisions.list", "revisions.list"]


def test_one_service_costs_what_it_always_did() -> None:
    fleet = Fleet("a", "b")

    fleet.observe("a")

    assert fleet.api.calls == [*ONE, "services.getIamPolicy"]


def test_services_that_are_not_there_cost_one_call() -> None:
    fleet = Fleet("a")

    seen = fleet.observe("x", "y")

    assert fleet.api.calls == ["services.list"]
    assert seen.services == {"x": None, "y": None}


def test_who_may_call_is_asked_for_each_or_is_unknown() -> None:
    fleet = Fleet("a", "b")

    asked, unasked = fleet.observe("a", "b"), fleet.observe("a", "b", access=False)

    assert fleet.api.calls.count("services.getIamPolicy") == 2
    assert [s.public for s in asked.services.values() if s] == [False, False]
    assert [s.public for s in unasked.services.values() if s] == [None, None]


def test_a_service_without_a_check_of_invokers_is_open_whether_asked_or_not() -> None:
    fleet = Fleet("a", "b")
    fleet.api.services["a"]["invokerIamDisabled"] = True

    seen = fleet.observe("a", "b", access=False)

    assert seen.services["a"] is not None and seen.services["a"].public is True


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_every_call_of_a_reading_is_made_again_by_itself(names: tuple[str, ...]) -> None:
    fleet = Fleet("a", "b")
    calm = fleet.observe(*names)
    fleet.api.silences = [LOST, None, LOST, LOST, None, LOST]

    seen = fleet.observe(*names)

    assert seen == calm
    assert fleet.clock.slept == pytest.approx([0.2, 0.2, 0.4, 0.2])
    assert len(fleet.notes) == 4


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_a_region_that_never_answers_is_unknown_and_not_asked_for_ever(
    names: tuple[str, ...],
) -> None:
    fleet = Fleet("a", "b")
    fleet.api.silences = [LOST] * 100

    seen = fleet.observe(*names)

    assert seen.services == {}
    assert seen.unknown == f"{LOST.message} (http://cloud.fake)"
    assert len(fleet.api.calls) == 5


def test_a_reading_that_is_refused_is_told_at_once() -> None:
    fleet = Fleet("a")
    fleet.api.silences = [ApiError("PERMISSION_DENIED", "you may not")]

    with pytest.raises(ApiError, match="you may not"):
        fleet.observe("a")
    assert fleet.clock.slept == []
