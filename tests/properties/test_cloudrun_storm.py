"""However the cloud fails and whoever interferes: no wrong success and nobody run over."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import MeshctlError
from meshctl.outside.gcp import Conflict, LostAnswer
from meshctl.plan.steps import PlaceRevision
from tests.builders import release
from tests.fakes.fake_run_api import FakeRunApi, Happening
from tests.unit.targets.test_cloudrun_target import PLACE, SHIFT, V1, Region, region

READS = st.sampled_from([None, None, LostAnswer("UNAVAILABLE"), Conflict("ABORTED", "read")])
CALM: list[Happening | None] = [None, None, "conflict", "lost-before", "lost-after"]
STORM: list[Happening | None] = [*CALM, "stranger", "overtaken"]
V3 = PlaceRevision(release=release("3"), revision="v3", tag="d", found=V1)


def stormy(cloud: Region, reads: list[Exception | None], writes: list[Happening | None]) -> Region:
    cloud.api.silences, cloud.api.faults = list(reads), list(writes)
    return cloud


def calm_again(cloud: Region) -> Region:
    cloud.api.silences, cloud.api.faults = [], []
    return cloud


reads = st.lists(READS, max_size=40)


@settings(max_examples=300)
@given(reads, st.lists(st.sampled_from(CALM), max_size=8))
def test_a_placed_revision_is_made_once_and_is_there_when_it_is_said_to_be(
    reads: list[Exception | None], writes: list[Happening | None]
) -> None:
    cloud = stormy(Region(), reads, writes)

    with suppress(MeshctlError):
        told = cloud.perform(PLACE)
        assert told["revision"] == "v2"
        assert calm_again(cloud).tags() == {"c": "v2"}

    made = [r["name"] for r in cloud.api.revisions["chat"]]  # the fake asserts each is made once
    assert len(made) <= 2
    assert calm_again(cloud).shares() == {"v1": 100}


@settings(max_examples=300)
@given(reads, st.lists(st.sampled_from(STORM), max_size=8))
def test_a_shift_is_never_a_wrong_success_and_never_takes_from_a_stranger(
    reads: list[Exception | None], writes: list[Happening | None]
) -> None:
    cloud = stormy(region([PLACE, V3]), reads, writes)
    came: list[str] = []

    def stranger(api: FakeRunApi) -> None:
        came.append("moved traffic to v3")
        api.move("chat", [{"revision": "v3", "percent": 100}], "ada@example.com")

    cloud.api.stranger = stranger
    said = None
    with suppress(MeshctlError):
        said = cloud.perform(SHIFT)

    shares = calm_again(cloud).shares()
    assert came == [] or shares == {"v3": 100}
    assert said is None or (said["traffic"] == shares == {"v2": 100} and not came)


@settings(max_examples=200)
@given(reads, st.lists(st.sampled_from(CALM), max_size=8))
def test_when_the_storm_is_over_the_same_act_ends_as_if_there_had_been_none(
    reads: list[Exception | None], writes: list[Happening | None]
) -> None:
    cloud, calm = stormy(region([PLACE]), reads, writes), region([PLACE])
    calm.perform(SHIFT)

    with suppress(MeshctlError):
        cloud.perform(SHIFT)
    calm_again(cloud).perform(SHIFT)

    assert cloud.rows == calm.rows
