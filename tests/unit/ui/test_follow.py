"""A run as it happens: one line for each event."""

from __future__ import annotations

import io
from typing import Any

from meshctl.state.journal import Event
from meshctl.ui.follow import Follow
from meshctl.ui.output import Output
from tests.unit.ui import samples


def event(kind: str, step: str | None = None, at: str = "00.000000", **data: Any) -> Event:
    return Event.model_validate(
        {"at": f"2026-11-30T20:45:{at}Z", "kind": kind, "step": step, "data": data}
    )


def told(*events: Event) -> list[str]:
    stderr = io.StringIO()
    output = Output(format="json", stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr)
    follow = Follow(output)
    opened = event("opened", run=samples.RUN, plan=samples.PLAN.model_dump(mode="json"))
    for one in (opened, *events):
        follow(one)
    first, *lines = stderr.getvalue().splitlines()
    assert first == f"run {samples.RUN}: deploy chat on gcp"
    return lines


def test_a_step_is_told_with_its_verdict_and_how_long_it_took() -> None:
    lines = told(
        event("started", "03-check"),
        event("verdict", "03-check", "01.100000", verdict="pass"),
        event("finished", "03-check", "01.200000"),
    )

    assert lines == ["03-check  ask the battery on the tag URL … pass (1.2s)"]


def test_a_step_without_a_verdict_is_done() -> None:
    lines = told(event("started", "04-shift"), event("finished", "04-shift", "02.000000"))

    assert lines == [f"04-shift  chat-{samples.NEW} 100 % … done (2s)"]


def test_a_failed_step_says_why_and_its_undo_is_told() -> None:
    lines = told(
        event("started", "03-check"),
        event("verdict", "03-check", verdict="fail"),
        event("failed", "03-check", "01.000000", how="fail", why="no answer"),
        event("undoing", "02-place", "01.000000"),
        event("undone", "02-place", "01.500000"),
        event("closed", None, "02.000000", ending={"how": "fail", "code": 3}),
    )

    assert lines == [
        "03-check  ask the battery on the tag URL … fail (1s): no answer",
        "02-place  undo: remove tag and revision … done (0.5s)",
        "ended, exit code 3",
    ]


def test_only_the_first_line_of_a_reason_is_told_as_it_happens() -> None:
    lines = told(event("failed", "02-place", how="fail", why="it exited with 1\nlast lines: ..."))

    assert lines == [
        f"02-place  {samples.STEPS[1].text} …",
        "          failed (0s): it exited with 1",
    ]


def test_a_run_that_went_well_ends_without_a_word_for_its_result_follows() -> None:
    assert told(event("closed", ending={"how": "done", "code": 0})) == []


def test_nothing_that_is_told_is_wider_than_80_columns() -> None:
    why = "the first token came after 61.3 s, and 60 s are allowed by rollout.token_deadline"

    lines = told(event("failed", "01-stage", how="fail", why=why), event("undoing", "02-place"),
                 event("failed", how="aborted", why=f"aborted by ada@desk: {why}"))  # fmt: skip

    assert len(lines) > 4
    assert max(map(len, lines)) <= 80


def test_a_run_that_is_read_twice_is_said_once() -> None:
    again = event("opened", run=samples.RUN, plan=samples.PLAN.model_dump(mode="json"))

    assert told(again, event("started", "01-stage")) == []


def test_an_abort_says_by_whom_and_why() -> None:
    lines = told(event("failed", None, how="aborted", why="aborted by ada@desk: wrong model"))

    assert lines == ["aborted by ada@desk: wrong model"]


def test_a_pause_and_a_take_over_are_told() -> None:
    lines = told(event("paused", ending={"how": "paused", "code": 7}), event("fenced", who="ada"))

    assert lines == ["paused, exit code 7", "taken over by ada"]
