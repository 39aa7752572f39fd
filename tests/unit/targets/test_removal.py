"""A service that no fleet declares goes as it was seen, or stays."""

from __future__ import annotations

import pytest

from meshctl.errors import LockHeld, Refused
from meshctl.plan.observed import ServiceScaling
from meshctl.plan.steps import RemoveService
from meshctl.targets.cloudrun.reading import service_seen
from tests.fakes.fake_run_api import Happening
from tests.unit.targets.test_cloudrun_target import SCALE, Region


def as_seen(cloud: Region) -> RemoveService:
    seen = cloud.target.look("chat")
    assert seen is not None
    return RemoveService(etag=seen.etag, generation=seen.generation)


@pytest.mark.parametrize("happening", [None, "lost-before", "lost-after"])
def test_a_service_is_removed_once_whatever_happens_to_the_answer(
    happening: Happening | None,
) -> None:
    cloud = Region()
    act = as_seen(cloud)
    cloud.api.faults = [happening]

    cloud.perform(act)

    assert cloud.target.look("chat") is None
    assert cloud.perform(act) == {"removed": True}


def test_a_service_that_was_changed_since_it_was_seen_stays() -> None:
    cloud = Region()
    act = as_seen(cloud)
    cloud.perform(SCALE)

    with pytest.raises(Refused, match="changed since it was looked at"):
        cloud.perform(act)
    assert cloud.target.look("chat") is not None


def test_the_lock_is_asked_for_before_a_service_is_removed() -> None:
    cloud = Region()
    act = as_seen(cloud)

    def lost() -> None:
        raise LockHeld("taken")

    with pytest.raises(LockHeld):
        cloud.perform(act, lost)
    assert cloud.target.look("chat") is not None


@pytest.mark.parametrize(
    ("scaling", "read"),
    [
        ({}, ServiceScaling()),
        ({"minInstanceCount": 1, "maxInstanceCount": 3}, ServiceScaling(min=1, max=3)),
        ({"scalingMode": "MANUAL", "manualInstanceCount": 2}, ServiceScaling(manual=2)),
        ({"scalingMode": "MANUAL"}, ServiceScaling(manual=0)),
        ({"scalingMode": "AUTOMATIC", "manualInstanceCount": 2}, ServiceScaling()),
    ],
)
def test_what_the_service_says_of_instances_is_read_whole(
    scaling: dict[str, object], read: ServiceScaling
) -> None:
    document = {"name": "projects/p/locations/l/services/chat", "scaling": scaling}

    assert service_seen(document, [], None).scaling == read
