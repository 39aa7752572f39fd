"""The releases of a service, each as its runs or its labels tell of it."""

from __future__ import annotations

from typing import Any

from meshctl.observe.history import History, history
from meshctl.plan.standing import labels_of
from meshctl.state.ledger import Run
from tests import builders
from tests.builders import ledger_run

TWO = (builders.revision("v2", "2"), builders.revision("v1", "1"))


def test_a_release_that_a_run_rolled_back_to_is_not_told_by_its_label_again() -> None:
    labels = labels_of(builders.ledger(ledger_run("v1"), ledger_run("v2"), ledger_run("v3")))
    known = [builders.revision(f"v{n}", str(n)) for n in (3, 2, 1)]
    of = builders.seen(*known, traffic=builders.split(v2=100), labels=labels)
    back = ledger_run("v2", verb="rollback", from_revision="v3")

    told = history(builders.ledger(ledger_run("v3"), back), of, "p:r")

    rows = {(one.run.revision, one.run.by_label) for one in told.past if one.run}
    assert rows == {("v3", False), ("v2", False), ("v1", True)}
    assert [one.run.revision for one in told.past if one.run and one.serving] == ["v2"]
    assert [one.run.revision for one in told.past if one.run and one.rollback_to] == ["v1"]


def serving(told: History) -> list[tuple[str, str]]:
    """Which rows are said to serve: the revision and the verb of its run."""
    return [(one.run.revision or "", one.run.verb) for one in told.past if one.run and one.serving]


def open_run(name: str, **changed: Any) -> Run:
    """A run that nobody closed: it saw nothing serve."""
    return ledger_run(name, state="open", served=False, verdict=None, traffic=None, **changed)


def test_what_serves_is_told_while_the_run_that_brought_it_is_unfinished() -> None:
    known = builders.ledger(ledger_run("v1"), open_run("v2"), open_run("v2", verb="verify"))
    of = builders.seen(*TWO, traffic=builders.split(v2=100))

    told = history(known, of, "p:r")

    assert serving(told) == [("v2", "deploy")]
    assert [run.revision for run in told.chain] == ["v2", "v1"]


def test_everything_that_gets_requests_is_told_to_serve() -> None:
    known = builders.ledger(ledger_run("v1"), open_run("v2"))
    of = builders.seen(*TWO, traffic=builders.split(v1=50, v2=50))

    assert sorted(serving(history(known, of, "p:r"))) == [("v1", "deploy"), ("v2", "deploy")]


def test_a_strangers_revision_that_was_only_verified_is_told_to_serve() -> None:
    known = builders.ledger(ledger_run("v1"), ledger_run("v2", verb="verify", served=False))
    of = builders.seen(*TWO, traffic=builders.split(v2=100))

    assert serving(history(known, of, "p:r")) == [("v2", "verify")]


def test_a_revision_without_a_run_serves_beside_one_that_has_one() -> None:
    of = builders.seen(*TWO, traffic=builders.split(v1=90, v2=10))

    told = history(builders.ledger(ledger_run("v1")), of, "p:r")

    assert serving(told) == [("v1", "deploy")]
    assert [one.unproven.name for one in told.past if one.unproven and one.serving] == ["v2"]
