"""Each act on Cloud Run comes about once, whatever happens on the way to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from meshctl.errors import LockHeld, Refused, Unreachable
from meshctl.plan.observed import LATEST, ServiceScaling, Share, Split
from meshctl.plan.steps import (
    Act,
    Asks,
    CheckRelease,
    CreateService,
    PlaceRevision,
    RetireService,
    RetireTag,
    SetScaling,
    ShiftAccess,
    ShiftTraffic,
)
from meshctl.plan.undo import undo_of
from meshctl.targets.cloudrun import edits
from meshctl.targets.cloudrun.target import CloudRunTarget
from tests.builders import release, split
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_http import FakeHttp, answer
from tests.fakes.fake_run_api import FakeRunApi, Happening

RUN = "chat.local.20261130T204500000000.S001"
TOKEN = "POST /v1/projects/-/serviceAccounts/meshctl@local.iam.gserviceaccount.com:generateIdToken"


class Region:
    """A region with `chat` in it: v1 serves alone."""

    def __init__(self, *, empty: bool = False) -> None:
        self.api = FakeRunApi()
        self.clock = FakeClock()
        http = FakeHttp({TOKEN: [answer(200, {"token": "ours"})]})
        self.notes: list[str] = []
        self.target = CloudRunTarget(
            "local", self.api, http, self.clock, note=self.notes.append, jitter=lambda: 0.0
        )
        if not empty:
            self.perform(CREATE)

    def perform(self, act: Act, assure: Callable[[], None] = lambda: None) -> dict[str, Any]:
        return self.target.perform("chat", act, RUN, assure)

    def written_by(self, act: Act) -> list[list[str]]:
        """The masks of the writes that an act made."""
        known = len(self.api.writes)
        self.perform(act)
        return [mask for mask, _ in self.api.writes[known:]]

    @property
    def rows(self) -> Split:
        seen = self.target.look("chat")
        self.target.writes.fresh.clear()
        return seen.traffic if seen else ()

    def shares(self) -> dict[str, int]:
        return {row.revision: row.percent for row in self.rows if row.percent}

    def tags(self) -> dict[str, str]:
        return {row.tag: row.revision for row in self.rows if row.tag}

    def follow_latest(self) -> None:
        self.api.move("chat", [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}])

    def stranger_takes(self, revision: str) -> Callable[[FakeRunApi], None]:
        def take(api: FakeRunApi) -> None:
            row = {"type": "REVISION", "revision": revision, "percent": 100}
            api.move("chat", [row], who="ada@example.com")

        return take


V1, V2 = split(v1=100), split(v2=100)
CREATE = CreateService(release=release("1"), revision="v1", scaling=ServiceScaling(min=1))
PLACE = PlaceRevision(release=release("2"), revision="v2", tag="c", found=V1)
SHIFT = ShiftTraffic(to=V2, was=V1, found=V1)
SCALE = SetScaling(to=ServiceScaling(min=3), was=ServiceScaling(min=1))
OPEN = ShiftAccess(public=True)
UNTAG = RetireTag(tag="c", revision="v2")
ACTS: list[tuple[str, list[Act], Act]] = [
    ("place", [], PLACE),
    ("shift", [PLACE], SHIFT),
    ("follow", [PLACE, SHIFT], ShiftTraffic(to=split(LATEST=100), was=V2, found=V1)),
    ("scale", [], SCALE),
    ("open", [], OPEN),
    ("close", [OPEN], ShiftAccess(public=False)),
    ("untag", [PLACE], UNTAG),
]
ALL = pytest.mark.parametrize(("before", "act"), [a[1:] for a in ACTS], ids=[a[0] for a in ACTS])


def region(before: list[Act]) -> Region:
    found = Region()
    for act in before:
        found.perform(act)
    return found


@ALL
def test_done_twice_an_act_writes_once(before: list[Act], act: Act) -> None:
    cloud = region(before)

    assert len(cloud.written_by(act)) == 1
    assert cloud.written_by(act) == []


@ALL
@pytest.mark.parametrize("happening", ["conflict", "lost-before", "lost-after"])
def test_a_lost_answer_or_a_conflict_ends_in_one_write(
    before: list[Act], act: Act, happening: Happening
) -> None:
    cloud, calm = region(before), region(before)
    calm.perform(act)
    cloud.api.faults = [happening]

    assert len(cloud.written_by(act)) == 1
    assert cloud.rows == calm.rows
    assert cloud.api.policies == calm.api.policies
    assert cloud.api.services["chat"]["scaling"] == calm.api.services["chat"]["scaling"]


@ALL
def test_an_act_that_never_gets_an_answer_gives_up(before: list[Act], act: Act) -> None:
    cloud = region(before)
    cloud.api.faults = ["lost-before"] * 6

    with pytest.raises(Unreachable):
        cloud.perform(act)
    assert cloud.clock.slept == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2])


@ALL
def test_the_lock_is_asked_before_every_single_write(before: list[Act], act: Act) -> None:
    cloud = region(before)
    known = len(cloud.api.writes)

    def lost() -> None:
        raise LockHeld("taken")

    with pytest.raises(LockHeld):
        cloud.perform(act, lost)
    assert len(cloud.api.writes) == known


def test_a_conflict_asks_for_the_lock_again() -> None:
    cloud = region([PLACE])
    cloud.api.faults = ["conflict"]
    asked: list[None] = []

    cloud.perform(SHIFT, lambda: asked.append(None))

    assert len(asked) == 2


@pytest.mark.parametrize("happening", [None, "lost-before", "lost-after"])
def test_a_service_is_created_once_and_its_revision_named(happening: Happening | None) -> None:
    cloud = Region(empty=True)
    cloud.api.faults = [happening]

    cloud.perform(CREATE)
    cloud.perform(CREATE)

    assert cloud.api.calls.count("services.create") == (2 if happening == "lost-before" else 1)
    assert cloud.shares() == {"v1": 100}
    assert cloud.api.services["chat"]["scaling"] == {"minInstanceCount": 1}
    assert cloud.api.policies == {}


def test_a_service_that_a_stranger_created_is_left_alone() -> None:
    cloud = Region()
    ours = CREATE.model_copy(update={"revision": "ours"})

    with pytest.raises(Refused, match="created by somebody else"):
        cloud.perform(ours)
    assert cloud.shares() == {"v1": 100}


def test_a_create_that_failed_is_not_taken_for_a_service_when_tried_again() -> None:
    cloud = Region(empty=True)
    cloud.api.broken = {"v1"}

    for _ in range(2):
        with pytest.raises(Refused, match="not"):
            cloud.perform(CREATE)


def test_placing_names_what_LATEST_stood_for() -> None:
    cloud = Region()
    cloud.follow_latest()

    seen = cloud.perform(PLACE)

    assert cloud.shares() == {"v1": 100}
    assert cloud.tags() == {"c": "v2"}
    assert seen["tag_url"] == "http://c---chat.fake"


def test_placing_keeps_the_tags_of_others() -> None:
    cloud = region([PLACE])

    cloud.perform(PlaceRevision(release=release("3"), revision="v3", tag="d", found=V1))

    assert cloud.tags() == {"c": "v2", "d": "v3"}


def test_a_tag_that_was_taken_over_goes_back_where_it_was() -> None:
    cloud = region([PLACE])
    moved = PlaceRevision(release=release("3"), revision="v3", tag="c", found=V1, tagged="v2")
    cloud.perform(moved)
    assert cloud.tags() == {"c": "v3"}

    back = undo_of(moved)
    assert back is not None
    cloud.perform(back)

    assert cloud.tags() == {"c": "v2"}


def test_a_tag_that_was_moved_on_is_left_alone() -> None:
    cloud = region([PLACE])

    assert cloud.written_by(RetireTag(tag="c", revision="v1")) == []
    assert cloud.tags() == {"c": "v2"}


def test_a_revision_that_does_not_get_ready_is_refused_with_its_reason() -> None:
    cloud = Region()
    cloud.api.broken = {"v2"}

    for _ in range(2):
        with pytest.raises(Refused, match="v2 did not become ready: boom"):
            cloud.perform(PLACE)
    assert cloud.shares() == {"v1": 100}


def test_after_a_failed_candidate_its_tag_can_be_taken_away() -> None:
    cloud = Region()
    cloud.api.broken = {"v2"}
    with pytest.raises(Refused):
        cloud.perform(PLACE)

    cloud.perform(UNTAG)

    assert cloud.tags() == {}
    assert cloud.shares() == {"v1": 100}


def test_a_release_that_was_rewritten_on_its_way_is_refused() -> None:
    cloud = Region()
    cloud.perform(PLACE)
    cloud.api.revisions["chat"][0]["containers"][0]["image"] = "another"

    with pytest.raises(Refused, match="v2 is release"):
        cloud.perform(PLACE)


def test_a_strangers_move_between_reading_and_writing_is_refused_and_left_alone() -> None:
    cloud = region([PLACE, PlaceRevision(release=release("3"), revision="v3", tag="d", found=V1)])
    cloud.api.faults = ["stranger"]
    cloud.api.stranger = cloud.stranger_takes("v3")

    with pytest.raises(Refused, match="moved by somebody else"):
        cloud.perform(SHIFT)
    assert cloud.shares() == {"v3": 100}


def test_traffic_that_was_accepted_but_not_carried_out_is_no_success() -> None:
    cloud = region([PLACE])
    cloud.api.services["chat"]["traffic"] = [{"revision": "v2", "percent": 100}]
    cloud.api.services["chat"]["terminalCondition"] = {
        "state": "CONDITION_FAILED", "message": "v2 is out of memory",
    }  # fmt: skip

    with pytest.raises(Refused, match="traffic is still v1 100 %, not v2 100 %: v2 is out of mem"):
        cloud.perform(SHIFT)


@pytest.mark.parametrize("performed", [True, False])
def test_undoing_a_shift_finds_out_whether_it_came_about(performed: bool) -> None:
    first = ShiftTraffic(to=split(v1=95, v2=5), was=V1, found=V1)
    second = ShiftTraffic(to=V2, was=first.to, found=V1)
    cloud = region([PLACE, first, *([second] if performed else [])])

    back = undo_of(second)
    assert back is not None
    cloud.perform(back)

    assert cloud.shares() == {"v1": 100}
    assert cloud.tags() == {"c": "v2"}


def test_following_LATEST_can_be_undone() -> None:
    follow = ShiftTraffic(to=split(LATEST=100), was=V2, found=V1)
    cloud = region([PLACE, SHIFT, follow])
    assert cloud.shares() == {LATEST: 100}

    back = undo_of(follow)
    assert back is not None
    cloud.perform(back)

    assert cloud.shares() == {"v1": 100}


def test_opening_keeps_every_other_binding_of_the_policy() -> None:
    cloud = Region()
    conditional = {
        "role": "roles/run.invoker", "members": ["user:a"], "condition": {"title": "office hours"},
    }  # fmt: skip
    plain = {"role": "roles/run.invoker", "members": ["user:b"]}
    viewer = {"role": "roles/run.viewer", "members": ["user:c"]}
    cloud.api.policies["chat"] = {"etag": "p0", "bindings": [conditional, plain, viewer]}

    cloud.perform(OPEN)
    opened = cloud.api.policies["chat"]["bindings"]
    cloud.perform(ShiftAccess(public=False))

    everyone = {"role": "roles/run.invoker", "members": ["user:b", "allUsers"]}
    assert sorted(opened, key=str) == sorted([conditional, viewer, everyone], key=str)
    assert sorted(cloud.api.policies["chat"]["bindings"], key=str) == sorted(
        [conditional, plain, viewer], key=str
    )


def test_a_policy_that_does_not_take_effect_is_no_success() -> None:
    cloud = Region()
    cloud.api.unwilling = True

    with pytest.raises(Refused, match="still closed"):
        cloud.perform(OPEN)


def test_a_service_that_stays_open_without_a_check_cannot_be_closed() -> None:
    cloud = Region()
    cloud.api.services["chat"]["invokerIamDisabled"] = True

    with pytest.raises(Refused, match="still open"):
        cloud.perform(ShiftAccess(public=False))


@pytest.mark.parametrize("happening", [None, "conflict", "lost-before", "lost-after"])
def test_a_service_is_removed_only_while_it_is_the_one_we_made(
    happening: Happening | None,
) -> None:
    cloud, strangers = Region(), region([PLACE])
    cloud.api.faults = [happening]

    cloud.perform(RetireService(revision="v1"))
    cloud.perform(RetireService(revision="v1"))

    assert cloud.api.services == {}
    with pytest.raises(Refused, match="did not make"):
        strangers.perform(RetireService(revision="v1"))


def test_a_service_that_will_not_go_is_not_called_removed() -> None:
    cloud = Region()
    cloud.api.unwilling = True

    with pytest.raises(Unreachable, match="still there"):
        cloud.perform(RetireService(revision="v1"))


def test_an_act_waits_until_the_service_has_settled() -> None:
    cloud = region([PLACE])
    cloud.api.slow = 3

    cloud.perform(SHIFT)

    assert cloud.clock.slept == pytest.approx([0.2, 0.3])
    assert cloud.shares() == {"v2": 100}


def test_a_stale_look_never_says_that_nothing_is_to_do() -> None:
    cloud = region([PLACE])
    cloud.target.look("chat")
    cloud.stranger_takes("v2")(cloud.api)

    cloud.perform(ShiftTraffic(to=V1, was=V2, found=V2))

    assert cloud.shares() == {"v1": 100}


def test_an_unreachable_region_is_unknown_and_never_empty() -> None:
    class Silent(FakeRunApi):
        def get_service(self, name: str) -> None:
            raise Unreachable("no route to host", place="local")

    cloud = Region()
    cloud.target.reads.api = Silent()

    seen = cloud.target.observe(["chat"])

    assert seen.services == {}
    assert seen.unknown == "no route to host (http://cloud.fake)"


ASKS = Asks()


@pytest.mark.parametrize(
    ("where", "public", "url", "token"),
    [
        ("tag", False, "http://c---chat.fake", True),
        ("tag", True, "http://c---chat.fake", False),
        ("service", False, "http://chat.fake", True),
        ("service", True, "http://chat.fake", False),
        ("public", True, "http://chat.fake", False),
        ("public", False, "http://chat.fake", False),
    ],
)
def test_the_public_path_is_never_asked_with_a_token(
    where: Any, public: bool, url: str, token: bool
) -> None:
    cloud = region([PLACE, *([OPEN] if public else [])])
    check = CheckRelease(where=where, revision="v2", tag="c", release="r", identity=True, asks=ASKS)

    address = cloud.target.address("chat", check)

    assert (address.url, address.token is not None) == (url, token)


@pytest.mark.parametrize("where", ["tag", "service", "public"])
def test_a_service_open_to_every_account_is_asked_with_a_token(where: Any) -> None:
    cloud = region([PLACE])
    binding = {"role": "roles/run.invoker", "members": ["allAuthenticatedUsers"]}
    cloud.api.policies["chat"] = {"etag": "p0", "bindings": [binding]}
    check = CheckRelease(where=where, revision="v2", tag="c", release="r", identity=True, asks=ASKS)

    assert cloud.target.address("chat", check).token is not None


@pytest.mark.parametrize("member", ["allUsers", "allAuthenticatedUsers"])
@pytest.mark.parametrize(
    ("role", "open_"),
    [
        ("roles/run.invoker", True),
        ("roles/run.admin", True),
        ("roles/owner", True),
        ("roles/editor", True),
        ("roles/run.viewer", False),
    ],
)
def test_everyone_in_a_role_that_may_call_is_public(role: str, open_: bool, member: str) -> None:
    cloud = Region()
    cloud.api.policies["chat"] = {
        "etag": "p0",
        "bindings": [{"role": role, "members": ["user:a", member]}],
    }

    seen = cloud.target.observe(["chat"]).services["chat"]

    assert seen is not None and seen.public is open_


def test_what_cannot_be_closed_is_left_as_it_is() -> None:
    """Taking half of it away would lock out callers whom no undo lets in again."""
    cloud = Region()
    everyone = {"role": "roles/run.invoker", "members": ["allUsers"]}
    accounts = {"role": "roles/run.admin", "members": ["allAuthenticatedUsers"]}
    before = {"etag": "p0", "bindings": [everyone, accounts]}
    cloud.api.policies["chat"] = before

    with pytest.raises(Refused, match="still open"):
        cloud.perform(ShiftAccess(public=False))

    assert cloud.api.policies["chat"] == before


def test_a_tag_that_follows_the_latest_leads_only_to_the_latest() -> None:
    cloud = region([PLACE])
    seen = cloud.target.look("chat")
    assert seen is not None
    rows = (Share(revision=LATEST, tag="c", url="http://c---chat.fake"),)
    following = seen.model_copy(update={"effective": rows, "latest_ready": "v2"})
    check = CheckRelease(where="tag", revision="v2", tag="c", release="r", identity=True, asks=ASKS)

    assert edits.tag_url(following, check) == "http://c---chat.fake"
    with pytest.raises(Refused, match="has no URL for revision v2"):
        edits.tag_url(following.model_copy(update={"latest_ready": "v3"}), check)


READ = ["services.get", "revisions.list"]


@pytest.mark.parametrize(
    ("before", "act", "calls"),
    [
        ([PLACE], SHIFT, [*READ, "services.patch traffic", *READ]),
        ([], PLACE, [*READ, "services.patch template,traffic", *READ]),
        ([PLACE], UNTAG, [*READ, "services.patch traffic", *READ]),
        ([], SCALE, [*READ, "services.patch scaling.minInstanceCount", *READ]),
        ([], OPEN, ["services.getIamPolicy", "services.setIamPolicy", *READ,
                    "services.getIamPolicy"]),
        ([PLACE, SHIFT], SHIFT, READ),
    ],
)  # fmt: skip
def test_the_calls_that_each_act_costs(before: list[Act], act: Act, calls: list[str]) -> None:
    cloud = region(before)
    cloud.api.calls.clear()

    cloud.perform(act)

    assert cloud.api.calls == calls


def test_creating_costs_seven_calls() -> None:
    cloud = Region(empty=True)

    cloud.perform(CREATE)

    create = ["services.get", "services.create", *READ, *READ, "services.patch traffic", *READ]
    assert cloud.api.calls == create


def test_a_rollback_moves_traffic_with_its_third_call() -> None:
    cloud = region([PLACE, SHIFT])
    cloud.api.calls.clear()

    cloud.target.look("chat")
    cloud.perform(ShiftTraffic(to=V1, was=V2, found=V2))

    assert cloud.api.calls[:3] == [*READ, "services.patch traffic"]
    assert cloud.shares() == {"v1": 100}


def test_rows_of_a_split_are_read_as_they_were_written() -> None:
    cloud = region([PLACE])

    assert cloud.rows == (
        Share(revision="v1", percent=100), Share(revision="v2", tag="c"),
    )  # fmt: skip


def test_a_service_without_our_revision_is_left_as_it_is() -> None:
    strangers = region([PLACE])

    told = strangers.perform(RetireService(revision="never-made"))

    assert told == {"removed": False}
    assert strangers.api.services != {}
