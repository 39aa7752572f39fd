"""Plans on a host: nothing stops before all that can be known is known, and each step goes back."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.move import Move, make_cutover, make_rollback
from meshctl.plan.observed import Revision, ServiceScaling, ServiceSeen, Share
from meshctl.plan.release import release_of
from meshctl.plan.request import Request
from meshctl.plan.steps import RetireService, StartRevision, StopRevision
from meshctl.plan.undo import undo_of
from meshctl.plan.unit_template import unit_template
from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from meshctl.state.ledger import Ledger
from tests.builders import ledger_run
from tests.unit.podman.made import IMAGE

FLEET = """\
meshctl: 1
fleet: home
targets: {attic: {kind: podman, address: ops@attic}}
images: {llama: {ref: "%s"}}
services:
  small: {target: attic, image: llama, ports: ["7773:8080"], models: {small: {}}%s}
"""


def fleet(more: str = "") -> Fleet:
    return load(FLEET % (IMAGE, more), "meshctl.yaml", {})


def unit(version: str) -> str:
    return (
        f"[Container]\nImage={IMAGE}\nEnvironment=V={version}\n\n[X-Meshctl]\nlistens=127.0.0.1:1\n"
    )


def revision(name: str, version: str) -> Revision:
    template = unit_template(unit(version))
    return Revision(name=name, release=release_of(template).id, template=template, ready=True,
                    failed=False)  # fmt: skip


def seen(standing: str, *revisions: Revision, ready: bool = True, **changed: Any) -> ServiceSeen:
    rows = (Share(revision=standing, percent=100),) if standing else ()
    return ServiceSeen(
        name="small", url="http://attic:7773", etag="ab", generation=0, ready=ready,
        reconciling=False, reason="", traffic=rows, effective=rows, revisions=revisions,
        latest_ready=standing or None, latest_created=standing or None, scaling=ServiceScaling(),
        public=None, **changed,
    )  # fmt: skip


def request(version: str, *, more: str = "", ledger: Ledger | None = None) -> Request:
    return Request(fleet=fleet(more), key="small", target="attic", salt="s001", unit=unit(version),
                   ledger=ledger or known("small-1"))  # fmt: skip


def known(name: str) -> Ledger:
    """meshctl put that there."""
    return Ledger(runs=(ledger_run(name, traffic={name: 100}),))


ONE, TWO = revision("small-1", "1"), revision("small-2", "2")


def test_a_first_release_is_started_where_nothing_was_and_goes_without_a_trace() -> None:
    plan = make_deploy(request("1"), None)

    assert (plan.strategy, [step.kind for step in plan.steps]) == (
        "create",
        ["stage", "place", "check"],
    )
    assert isinstance(undo_of(plan.steps[1].act), RetireService)
    assert plan.in_place


def test_all_that_can_be_known_is_asked_before_what_serves_is_stopped() -> None:
    plan = make_deploy(request("2"), seen("small-1", ONE))

    assert plan.strategy == "instead"
    assert [step.kind for step in plan.steps] == ["stage", "retire", "place", "check"]
    assert plan.before is not None and plan.before.revision == "small-1"


def test_the_way_back_starts_what_was_stopped_and_stops_what_was_started() -> None:
    plan = make_deploy(request("2"), seen("small-1", ONE))
    stopped, started = plan.steps[1].act, plan.steps[2].act
    assert isinstance(stopped, StopRevision) and isinstance(started, StartRevision)

    assert undo_of(started) == StopRevision(
        release=started.release, revision=started.revision, by="small-1"
    )
    assert undo_of(stopped) == StartRevision(
        release=stopped.release, revision="small-1", instead_of=started.revision
    )


def test_what_runs_as_wanted_needs_nothing() -> None:
    assert make_deploy(request("1"), seen("small-1", ONE)).empty


def test_what_is_wanted_and_down_is_started_again_and_never_removed_on_the_way_back() -> None:
    plan = make_deploy(request("1"), seen("small-1", ONE, ready=False))

    assert [step.kind for step in plan.steps] == ["stage", "place", "check"]
    assert isinstance(undo_of(plan.steps[1].act), StopRevision)
    assert plan.before is None, "what was down has nothing to be asked"


def test_a_release_that_is_kept_there_is_started_by_its_name() -> None:
    plan = make_deploy(request("2"), seen("small-1", ONE, TWO))

    assert plan.revision == "small-2"


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (make_deploy(request("2", ledger=Ledger()), seen("small-1", ONE)), "last put there"),
        (make_deploy(request("2"), seen("small-1", ONE, barred="drop-ins")), "drop-ins"),
        (make_deploy(request("2", more=", front: mesh"), seen("small-1", ONE)), "front: mesh"),
        (make_canary(request("2"), seen("small-1", ONE)), "no release can be tried beside"),
    ],
    ids=["a-strangers", "drop-ins", "front", "canary"],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_planned(plan: Any, said: str) -> None:
    assert not plan.steps
    assert said in plan.refused[0].message
    assert plan.refused[0].hint


def test_a_rollback_sees_that_everything_is_there_then_goes_back() -> None:
    first, second = (
        ledger_run(one.name, release=one.release, served=True, traffic={one.name: 100})
        for one in (ONE, TWO)
    )
    move = Move("small", "small", "attic", Ledger(runs=(first, second)))

    plan = make_rollback(move, seen("small-2", ONE, TWO), None)

    assert (plan.strategy, plan.revision) == ("instead", "small-1")
    assert [step.kind for step in plan.steps] == ["stage", "retire", "place", "check"]


def test_a_cutover_is_refused_for_there_is_no_traffic_to_share() -> None:
    move = Move("small", "small", "attic", known("small-1"))

    plan = make_cutover(move, seen("small-1", ONE, TWO), TWO)

    assert "one port" in plan.refused[0].message
