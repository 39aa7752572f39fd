"""What somebody else did while we were at it is told in words, and never overwritten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.errors import Refused
from meshctl.plan.observed import LATEST, ServiceScaling, Share
from meshctl.plan.steps import PlaceRevision, RetireTag, SetScaling, ShiftTraffic
from meshctl.targets.cloudrun.meanwhile import Meanwhile, sentence
from tests.builders import release, revision, seen, split, tagged
from tests.fakes.fake_run_api import FakeRunApi
from tests.unit.targets.test_cloudrun_target import PLACE, SCALE, SHIFT, V1, V2, Region, region

ADA = "ada@example.com"


def only(rows: dict[str, int], who: str = ADA) -> Callable[[FakeRunApi], None]:
    """A stranger gives traffic to these revisions, and drops every tag."""

    def move(api: FakeRunApi) -> None:
        api.move("chat", [{"revision": r, "percent": p} for r, p in rows.items()], who)

    return move


def scaled(minimum: int) -> Callable[[FakeRunApi], None]:
    def scale(api: FakeRunApi) -> None:
        api.services["chat"]["scaling"] = {"minInstanceCount": minimum}
        api.touch("chat")

    return scale


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"traffic": split(v2=100)}, "traffic v1 100 % -> v2 100 %"),
        ({"traffic": split(LATEST=100)}, "traffic v1 100 % -> LATEST 100 %"),
        ({"traffic": (*split(v1=100), tagged("c", "v2"))}, "tag c (none) -> v2"),
        ({"latest_created": "v9"}, "its template, which made revision v9"),
        ({"scaling": ServiceScaling(min=3)}, "minimum instances 0 -> 3"),
        ({"scaling": ServiceScaling(max=2)}, "maximum instances (none) -> 2"),
        ({"etag": "2"}, "nothing that a release or its traffic is made of"),
    ],
)
def test_a_change_is_told_in_words(after: dict[str, object], told: str) -> None:
    before = seen(revision("v1"))

    assert (
        sentence(before, before.model_copy(update=after)) == f"somebody else changed chat: {told}"
    )


def test_who_it_was_is_told_where_the_cloud_says_it() -> None:
    before = seen(revision("v1"))
    after = before.model_copy(update={"modifier": ADA, "scaling": ServiceScaling(min=1)})

    assert sentence(before, after) == f"{ADA} changed chat: minimum instances 0 -> 1"


def test_after_a_lost_answer_nobody_is_blamed_for_what_may_be_our_own_write() -> None:
    others = Meanwhile(lost=True)

    others.conflict(seen(traffic=V1))
    others.read(seen(traffic=V2))

    assert others.told == []


def test_a_conflict_that_leaves_our_change_possible_is_evidence() -> None:
    cloud = region([PLACE])
    cloud.api.faults, cloud.api.stranger = ["stranger"], scaled(5)

    told = cloud.perform(SHIFT)

    assert told["meanwhile"] == ["somebody else changed chat: minimum instances 1 -> 5"]
    assert cloud.shares() == {"v2": 100}
    assert cloud.api.services["chat"]["scaling"] == {"minInstanceCount": 5}


def test_a_conflict_that_rules_our_change_out_is_told_in_the_refusal() -> None:
    v3 = PlaceRevision(release=release("3"), revision="v3", tag="d", found=V1)
    cloud = region([PLACE, v3])
    cloud.api.faults, cloud.api.stranger = ["stranger"], only({"v3": 100})

    with pytest.raises(Refused) as refused:
        cloud.perform(SHIFT)

    assert f"{ADA} changed chat: traffic v1 100 % -> v3 100 %; tag c v2" in refused.value.message
    assert cloud.shares() == {"v3": 100}


def test_a_change_that_was_overtaken_but_stands_is_told_as_superseded() -> None:
    cloud = region([PLACE])
    cloud.api.faults, cloud.api.stranger = ["overtaken"], scaled(5)

    told = cloud.perform(SHIFT)

    assert told["meanwhile"] == [
        "superseded right after it was written: somebody else changed chat: "
        "minimum instances 1 -> 5"
    ]
    assert told["traffic"] == {"v2": 100}


@pytest.mark.parametrize("to", [{"v1": 100}, {"v3": 100}])
def test_a_shift_that_was_taken_back_at_once_is_no_success_and_not_written_again(
    to: dict[str, int],
) -> None:
    v3 = PlaceRevision(release=release("3"), revision="v3", tag="d", found=V1)
    cloud = region([PLACE, v3])
    cloud.api.faults, cloud.api.stranger = ["overtaken"], only(to)
    known = len(cloud.api.writes)

    with pytest.raises(Refused, match=rf"superseded right after.*{ADA} changed chat: traffic v2"):
        cloud.perform(SHIFT)

    assert cloud.shares() == to
    assert len(cloud.api.writes) == known + 1


def test_a_minimum_that_was_taken_back_at_once_is_no_success() -> None:
    cloud = Region()
    cloud.api.faults, cloud.api.stranger = ["overtaken"], scaled(1)

    with pytest.raises(Refused, match=r"superseded right after .* minimum instances 3 -> 1"):
        cloud.perform(SCALE)
    assert cloud.api.services["chat"]["scaling"] == {"minInstanceCount": 1}


def test_an_old_reading_after_a_write_is_not_taken_for_its_result() -> None:
    cloud = region([PLACE])
    stale = cloud.api.get_service("chat")
    cloud.api.stale = [stale, stale, stale]

    told = cloud.perform(SHIFT)

    assert told["traffic"] == {"v2": 100}
    assert cloud.clock.slept == pytest.approx([0.2, 0.3])


def test_a_success_of_an_older_generation_is_not_taken_for_ours() -> None:
    cloud = region([PLACE])
    settled = cloud.api.get_service("chat")
    assert settled is not None
    older = str(int(settled["generation"]) - 1)
    cloud.api.stale = [settled | {"observedGeneration": older}]
    cloud.api.calls.clear()

    cloud.perform(SetScaling(to=ServiceScaling(min=1), was=ServiceScaling(min=0)))

    assert cloud.api.calls.count("services.get") == 2


@pytest.mark.parametrize("act", [SHIFT, SCALE, RetireTag(tag="c", revision="v2")])
def test_only_what_is_meant_is_written(act: ShiftTraffic | SetScaling | RetireTag) -> None:
    """A template that was read is never sent back: with the name of its revision in it the cloud
    answers 409 as soon as anything differs (fact 6)."""
    cloud = region([PLACE])
    known = len(cloud.api.writes)

    cloud.perform(act)

    (mask, body) = cloud.api.writes[known]
    assert set(body) == {mask[0].partition(".")[0], "etag"}
    assert LATEST not in str(body)


def test_a_label_that_another_client_copied_does_not_make_a_release() -> None:
    cloud = region([PLACE])
    copied = cloud.api.revisions["chat"][0]
    copied["containers"][0]["env"] = [{"name": "VERSION", "value": "changed by gcloud"}]

    found = cloud.target.look("chat")

    assert found is not None
    assert copied["labels"]["meshctl-release"] == release("2").id
    assert found.revisions[0].release != release("2").id
    assert Share(revision="v2", tag="c") in [
        row.model_copy(update={"url": None}) for row in found.effective
    ]
