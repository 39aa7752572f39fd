"""What a service says of its own past, in labels, when no journal can be read."""

from __future__ import annotations

import re
from typing import Any

from meshctl.plan.move import Move, make_rollback
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.standing import KEPT, labels_of, merged, read_standings, with_labels, word_of
from meshctl.state.ledger import Ledger
from tests import builders
from tests.builders import ledger_run

VALUE = re.compile(r"[a-z0-9_-]{0,63}")
KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def seen(serving: str, labels: dict[str, str], **changed: Any) -> ServiceSeen:
    """v1 to v3, of which one serves."""
    known = [builders.revision(f"v{n}", str(n)) for n in (3, 2, 1)]
    return builders.seen(*known, traffic=builders.split(**{serving: 100}), labels=labels, **changed)


def move(ledger: Ledger) -> Move:
    return Move(key="chat", name="chat", target="local", ledger=ledger)


def rollback(of: ServiceSeen, ledger: Ledger | None = None, to: str | None = None) -> str | None:
    """To which revision a rollback goes that has the labels alone."""
    told = with_labels(ledger or Ledger(), of, "p:r")
    return make_rollback(move(told), of, to).revision


CHAIN = builders.ledger(ledger_run("v1", min_instances=1), ledger_run("v2"), ledger_run("v3"))


def test_a_label_fits_what_google_cloud_takes() -> None:
    labels = labels_of(CHAIN)

    assert len(labels) == 3
    assert all(KEY.fullmatch(key) and VALUE.fullmatch(value) for key, value in labels.items())


def test_the_labels_lead_back_as_the_journal_would() -> None:
    labels = labels_of(CHAIN)

    assert rollback(seen("v3", labels)) == "v2"
    assert rollback(seen("v2", labels)) == "v1"
    assert rollback(seen("v1", labels)) is None


def test_what_was_rolled_back_from_is_passed_over() -> None:
    back = ledger_run("v2", verb="rollback", from_revision="v3")
    left = builders.ledger(*CHAIN.runs, back)

    assert rollback(seen("v2", labels_of(left))) == "v1"
    assert "left" in labels_of(left)[f"meshctl-{builders.release('3').id}"]


def test_the_minimum_comes_back_with_the_release() -> None:
    of = seen("v2", labels_of(CHAIN))

    plan = make_rollback(move(with_labels(Ledger(), of, "p:r")), of, None)

    assert any("minimum instances: 0 -> 1" in step.text for step in plan.steps)


def test_a_label_says_nothing_about_a_revision_that_is_another_release() -> None:
    labels = labels_of(CHAIN)
    forged = builders.revision("v2", "9", labels={"meshctl-release": builders.release("2").id})
    of = builders.seen(builders.revision("v3", "3"), forged, labels=labels)

    assert rollback(of) is None


def test_a_label_that_is_none_of_ours_says_nothing() -> None:
    key = f"meshctl-{builders.release('1').id}"

    for value in ("", "pass", "pass_m1", "fail_m0_20261130t204512", "pass_m0_yesterday", "x" * 63):
        assert read_standings({key: value, "meshctl": "managed"}) == ()


def test_a_rollout_that_stands_half_way_goes_back_to_what_passed() -> None:
    labels = labels_of(builders.ledger(ledger_run("v1"), ledger_run("v2")))
    of = seen("v2", labels, effective=builders.split(v2=95, v3=5))
    of = of.model_copy(update={"traffic": builders.split(v2=95, v3=5)})

    assert rollback(of) == "v2"


def test_other_labels_stay_and_only_the_newest_of_ours() -> None:
    old = {f"meshctl-r{n:010x}": f"pass_m0_202611{n:02d}t204512" for n in range(1, 20)}
    others = {f"team-{n}": "a" for n in range(60)}

    many = merged(old, labels_of(CHAIN))
    few = merged({**old, **others}, labels_of(CHAIN))

    assert len(many) == KEPT
    assert set(labels_of(CHAIN)) <= set(many)
    assert len(few) == 64
    assert set(others) <= set(few)


def test_merging_twice_changes_nothing_more() -> None:
    once = merged({"a": "b"}, labels_of(CHAIN))

    assert merged(once, labels_of(CHAIN)) == once


def test_what_a_journal_knows_is_not_told_by_a_label() -> None:
    ledger = builders.ledger(ledger_run("v1"), ledger_run("v2"))
    labels = labels_of(CHAIN) | {f"meshctl-{builders.release('1').id}": "left_m0_20200101t000000"}

    assert rollback(seen("v2", labels), ledger) == "v1"


def test_of_a_revision_is_said_what_a_rollback_would_go_by() -> None:
    of = seen("v3", labels_of(builders.ledger(ledger_run("v2"), ledger_run("v3"))))
    told = with_labels(builders.ledger(ledger_run("v3")), of, "p:r")

    words = {one.name: word_of(told, one) for one in of.revisions}

    assert words == {"v3": "passed", "v2": "passed by its label", "v1": "unproven"}
