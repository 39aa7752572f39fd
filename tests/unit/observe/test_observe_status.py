"""What is said of a service of which no fleet file says what it should be."""

from __future__ import annotations

from typing import Any

from meshctl.observe.status import GONE, UNDECLARED, Asked, Status, status_of
from meshctl.plan.observed import ServiceSeen, TargetSeen
from meshctl.state.holder import Holder
from meshctl.ui.render.status import status_lines
from meshctl.ui.tell import status_document
from tests import builders


def asked(**changed: Any) -> Asked:
    """Known by its journal alone, in which one release came to serve."""
    given = {"service": None, "wanted": None, "ledger": builders.ledger(builders.ledger_run("v1"))}
    return Asked(key="chat", name="chat", **{**given, **changed})


def target(seen: ServiceSeen | None, unknown: str = "") -> TargetSeen:
    return TargetSeen(name="gcp", services={"chat": seen}, unknown=unknown)


def test_what_only_a_fleet_file_says_is_unknown_and_what_is_seen_is_told() -> None:
    told = status_of(asked(), target(builders.seen()))

    entry = status_document([told]).services[0]
    assert (told.role, told.drift, told.cost) == (None, None, None)
    assert (entry.state, entry.role, entry.drift, entry.cost) == ("READY", None, None, None)
    assert UNDECLARED in entry.notes and GONE not in entry.notes


def test_what_served_and_is_not_there_is_said_to_be_missing() -> None:
    gone = status_of(asked(), target(None))
    never = status_of(asked(ledger=builders.ledger()), target(None))

    assert (gone.state, gone.notes) == ("STOPPED", (GONE, UNDECLARED))
    assert never.notes == (UNDECLARED,)


def test_a_target_that_does_not_answer_leaves_everything_unknown() -> None:
    told = status_of(asked(), target(None, unknown="no answer"))

    assert (told.state, told.role, told.drift) == ("UNKNOWN", None, None)
    assert told.notes == ("not observed: no answer",)


def test_a_declared_service_that_is_not_there_is_drift() -> None:
    service = builders.declared(builders.fleet())

    told = status_of(asked(service=service), target(None))

    assert told.role == service.role
    assert [change.path for change in told.drift or ()] == ["service"]
    assert UNDECLARED not in told.notes


def test_a_split_that_an_open_run_could_not_have_made_is_a_strangers() -> None:
    run = builders.ledger_run(
        "v3", state="open", served=False, traffic=None, splits=({"v2": 100}, {"v3": 100})
    )
    ledger = builders.ledger(builders.ledger_run("v1"), builders.ledger_run("v2"), run)
    revisions = [builders.revision(name) for name in ("v3", "v2", "v1")]

    def told(name: str) -> Status:
        seen = builders.seen(*revisions, traffic=builders.split(**{name: 100}))
        return status_of(asked(ledger=ledger), target(seen))

    assert [told(name).pinned for name in ("v1", "v2", "v3")] == [True, None, None]
    assert any("`meshctl abort chat` ends the run" in note for note in told("v1").notes)


def test_of_an_open_run_that_says_nothing_of_its_splits_nobody_knows() -> None:
    run = builders.ledger_run("v2", state="open", served=False, traffic=None)
    ledger = builders.ledger(builders.ledger_run("v1"), run)

    told = status_of(asked(ledger=ledger), target(builders.seen(builders.revision("v0"))))

    assert told.pinned is None


TWO = (builders.revision("v2", "2"), builders.revision("v1", "1"))


def half_way(shares: dict[str, int]) -> Status:
    """Of version 2 as it is declared, while a deploy of it stands open."""
    known = builders.ledger(
        builders.ledger_run("v1"),
        builders.ledger_run(
            "v2", run="RUN", state="open", served=False, traffic=None,
            splits=({"v1": 100}, {"v1": 50, "v2": 50}, {"v2": 100}),
        ),
    )  # fmt: skip
    of = builders.fleet("2")
    wanted = builders.release("2").template
    seen = builders.seen(*TWO, traffic=builders.split(**shares))
    given = asked(service=builders.declared(of), wanted=wanted, ledger=known)
    return status_of(given, target(seen))


def test_two_releases_with_the_same_share_are_told_as_mixed_and_neither_is_picked() -> None:
    told = half_way({"v2": 50, "v1": 50})

    table = status_lines(status_document([told]), 80)
    assert (told.release, told.since, told.who) == (None, None, None)
    assert table[1].split()[3] == "mixed"


def test_what_gets_only_a_part_of_the_requests_is_drift_too() -> None:
    mostly, whole = half_way({"v2": 95, "v1": 5}), half_way({"v2": 100})

    assert mostly.release == TWO[0].release
    assert [change.path for change in mostly.drift or ()] == ["env.VERSION"]
    assert whole.drift == ()


def test_a_run_that_has_not_ended_is_named_and_so_is_who_is_at_work() -> None:
    left = half_way({"v2": 100})
    held = Holder(
        person="ann", host="desk", boot="b", pid=7, pid_start=1, what="deploy", run="RUN",
        since="2026-11-30T20:45:00Z", until="2026-11-30T20:46:00Z",
    )  # fmt: skip

    busy = status_of(asked(held=held), target(builders.seen()))

    assert status_document([left]).services[0].run == "RUN"
    assert busy.state == "DEPLOYING"
    assert any(note.startswith("run RUN (deploy) is under way, by ") for note in busy.notes)


def test_who_deployed_last_did_not_bring_a_split_that_a_stranger_made() -> None:
    ledger = builders.ledger(builders.ledger_run("v1", who="ann"), builders.ledger_run("v2"))

    told = status_of(asked(ledger=ledger), target(builders.seen(TWO[1])))

    assert told.pinned is True
    assert (told.since, told.who) == (None, None)
