"""What the journals of a service add up to."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.state.journal import Event, EventKind, Journal
from meshctl.state.ledger import read_ledger
from tests.builders import ledger, ledger_run, release
from tests.fakes.memory_store import MemoryStore

AT = "2026-11-30T20:45:12.345678Z"


def write(store: MemoryStore, run: str, *events: tuple[EventKind, dict[str, Any]]) -> None:
    journal = Journal(store, run)
    for kind, data in events:
        journal.append(Event(at=AT, kind=kind, data=data))


def test_a_run_is_summed_up_from_its_first_and_last_event() -> None:
    store = MemoryStore()
    opened = {"verb": "deploy", "who": "ann", "release": "r1", "revision": "v1", "plan": {}}
    closed = {"exit_code": 0, "verdict": "pass", "served": True, "traffic": {"v1": 100}}
    write(store, "chat.local:local1.1.s", ("opened", opened), ("started", {}), ("closed", closed))

    run = read_ledger(store, "chat", "local:local1").runs[0]

    assert (run.verb, run.who, run.at, run.state) == ("deploy", "ann", AT, "closed")
    assert (run.served, run.traffic, run.exit_code) == (True, {"v1": 100}, 0)


@pytest.mark.parametrize(
    ("last", "state"),
    [("opened", "open"), ("started", "open"), ("failed", "open"), ("undone", "open"),
     ("paused", "paused"), ("closed", "closed"), ("fenced", "fenced")],
)  # fmt: skip
def test_a_run_is_open_until_somebody_ended_it(last: EventKind, state: str) -> None:
    store = MemoryStore()
    write(store, "chat.local:local1.1.s", ("opened", {"verb": "deploy"}), (last, {}))

    found = read_ledger(store, "chat", "local:local1")

    assert found.runs[0].state == state
    assert (found.unfinished is not None) == (state in ("open", "paused"))


@pytest.mark.parametrize(
    ("last", "how", "became"),
    [("closed", "done", ""), ("closed", "fail", ""), ("paused", "paused", ""),
     ("closed", "interrupted", "interrupted"), ("closed", "aborted", "aborted"),
     ("started", "", "unfinished"), ("fenced", "", "taken over")],
)  # fmt: skip
def test_a_run_that_came_to_no_verdict_says_what_became_of_it(
    last: EventKind, how: str, became: str
) -> None:
    store = MemoryStore()
    ended = {"ending": {"how": how}, "verdict": "pass"} if how else {}
    write(store, "chat.local:local1.1.s", ("opened", {"verb": "deploy"}), (last, ended))

    found = read_ledger(store, "chat", "local:local1")

    assert found.runs[0].broken_off == became


def test_the_newest_verdict_for_exactly_that_revision_counts() -> None:
    known = ledger(
        ledger_run("v1"),
        ledger_run("v1", verb="verify", verdict="fail", served=False),
        ledger_run("v1", verb="cutover", verdict=None, served=False),
        ledger_run("v2"),
    )

    assert known.verdict_of("v1", release("1").id) == "fail"
    assert known.verdict_of("v2", release("2").id) == "pass"
    assert known.verdict_of("v3", release("3").id) is None


def test_a_verdict_is_not_handed_on_to_another_release_of_the_same_name() -> None:
    known = ledger(ledger_run("v1"))

    assert known.verdict_of("v1", "r-another") is None


def test_the_last_split_is_that_of_the_last_run_that_wrote_one() -> None:
    known = ledger(ledger_run("v1"), ledger_run("v2", traffic=None))

    assert known.last_traffic == {"v1": 100}
    assert ledger().last_traffic is None


def test_the_chain_holds_what_came_to_serve_by_going_forward() -> None:
    known = ledger(
        ledger_run("v1"),
        ledger_run("v2", served=False),
        ledger_run("v3", verb="cutover"),
        ledger_run("v1", verb="rollback", from_revision="v3"),
    )

    assert [run.revision for run in known.chain] == ["v1", "v3"]


def test_the_first_release_has_no_predecessor() -> None:
    assert ledger(ledger_run("v1")).predecessor("v1") is None
    assert ledger().predecessor(None) is None


def test_a_stranger_is_followed_by_the_last_that_served() -> None:
    found = ledger(ledger_run("v1"), ledger_run("v2")).predecessor("theirs")

    assert found is not None and found.revision == "v2"


def test_the_same_release_under_another_name_is_no_way_back() -> None:
    known = ledger(
        ledger_run("v1"), ledger_run("v2a", release="r2"), ledger_run("v2b", release="r2")
    )

    found = known.predecessor("v2b")

    assert found is not None and found.revision == "v1"


def test_a_verify_or_a_canary_says_nothing_about_a_rollout_half_way() -> None:
    half = ledger_run("v2", state="fenced", exit_code=None, served=False, from_revision="v1")
    asked = ledger_run("v1", verb="verify", served=False, traffic=None)

    assert ledger(ledger_run("v1"), half, asked).half_way == half
    assert ledger(ledger_run("v1"), half, ledger_run("v3")).half_way is None
