"""Which tags can go, which stay, and why."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.cost import Cost
from meshctl.plan.gc import Question, TagFound, gc_plan, tags_found
from meshctl.plan.observed import LATEST, ServiceSeen
from meshctl.plan.steps import RetireTag
from meshctl.state.ledger import Ledger, Run
from tests.builders import ledger, ledger_run, revision, seen, split, tagged

NO_COST = Cost(
    idle_instances=0, idle_usd_per_hour=0.0, full_instances=0, full_usd_per_hour=0.0, warm=()
)
V1, V2, V3 = revision("v1"), revision("v2", "2"), revision("v3", "3")


def canary(name: str = "v3", **changed: Any) -> Run:
    given = {"verb": "canary", "served": False, "traffic": None, "exit_code": 3, "verdict": "fail"}
    return ledger_run(name, **(given | changed))


def found(there: ServiceSeen, known: Ledger, *named: str, ours: bool = True) -> dict[str, TagFound]:
    """Every tag by its name; `ours` says that meshctl placed all of them."""
    placed = {(row.tag, row.revision) for row in there.traffic if row.tag} if ours else set()
    question = Question(
        "chat", "chat", "local", known, ours=frozenset(placed), named=frozenset(named)
    )
    return {one.tag: one for one in tags_found(question, there, NO_COST)}


def with_tag(name: str, **shares: int) -> ServiceSeen:
    return seen(V3, V2, V1, traffic=(*split(**(shares or {"v1": 100})), tagged("t", name)))


def test_the_tag_of_a_candidate_that_failed_is_stale() -> None:
    tag = found(with_tag("v3"), ledger(ledger_run("v1"), canary()))["t"]

    assert (tag.stale, tag.bound, tag.revision, tag.release) == (True, False, "v3", V3.release)


@pytest.mark.parametrize("named", [(), ("t",)])
@pytest.mark.parametrize("shares", [{"v3": 100}, {"v1": 95, "v3": 5}, {LATEST: 100}])
def test_what_serves_keeps_its_tag_even_when_it_is_named(
    named: tuple[str, ...], shares: dict[str, int]
) -> None:
    tag = found(with_tag("v3", **shares), ledger(ledger_run("v1"), canary()), *named)["t"]

    assert (tag.stale, tag.bound) == (False, True)
    assert tag.why.startswith("serves")


@pytest.mark.parametrize("state", ["open", "paused"])
def test_the_candidate_of_a_run_that_nobody_ended_keeps_its_tag(state: str) -> None:
    known = ledger(ledger_run("v1"), canary(state=state, exit_code=None))

    tag = found(with_tag("v3"), known, "t")["t"]

    assert (tag.stale, tag.bound) == (False, True)
    assert f"(canary) is {state}" in tag.why


def test_where_a_rollback_would_go_keeps_its_tag_until_it_is_named() -> None:
    known = ledger(ledger_run("v1"), ledger_run("v2"))
    there = with_tag("v1", v2=100)

    kept, named = found(there, known)["t"], found(there, known, "t")["t"]

    assert (kept.stale, kept.why) == (False, "a rollback would go to this revision")
    assert named.stale


def test_a_candidate_that_passed_waits_for_its_cutover() -> None:
    known = ledger(ledger_run("v1"), canary(exit_code=0, verdict="pass"))

    tag = found(with_tag("v3"), known)["t"]

    assert (tag.stale, tag.why) == (False, "passed as a canary and waits: `meshctl cutover chat`")


def test_it_waits_no_longer_once_another_release_came_to_serve() -> None:
    known = ledger(
        ledger_run("v1"), canary(exit_code=0, verdict="pass"), ledger_run("v2"), ledger_run("v1")
    )

    assert found(with_tag("v3"), known)["t"].stale


def test_a_tag_that_meshctl_did_not_make_goes_only_when_it_is_named() -> None:
    known = ledger(ledger_run("v1"))

    kept = found(with_tag("v3"), known, ours=False)["t"]
    named = found(with_tag("v3"), known, "t", ours=False)["t"]

    assert (kept.stale, kept.ours, kept.why) == (False, False, "not made by meshctl")
    assert named.stale


def test_a_tag_that_was_moved_to_another_revision_is_not_ours_any_more() -> None:
    question = Question("chat", "chat", "local", Ledger(), ours=frozenset({("t", "v2")}))

    tag = tags_found(question, with_tag("v3"), NO_COST)[0]

    assert (tag.ours, tag.stale) == (False, False)


def test_a_tag_that_follows_the_latest_is_nobodys_candidate() -> None:
    there = seen(V3, V1, traffic=(*split(v1=100), tagged("t", LATEST)), latest_ready="v3")

    tag = found(there, ledger(ledger_run("v1")))["t"]

    assert (tag.stale, tag.why) == (False, "follows the latest revision; not made by meshctl")


def test_the_plan_takes_the_stale_tags_away_and_says_no_way_back_but_the_tag() -> None:
    there = with_tag("v3")
    question = Question("chat", "chat", "local", Ledger())
    tags = list(found(there, ledger(ledger_run("v1"), canary())).values())

    plan = gc_plan(question, there, tags)

    assert [step.act for step in plan.steps] == [RetireTag(tag="t", revision="v3")]
    assert (plan.verb, plan.steps[0].kind, plan.found) == ("gc", "retire", split(v1=100))
