"""The last lines of a failed candidate: told where they can be read, and never a failure."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from meshctl.cli.logs_tail import tell_last_lines
from meshctl.cli.settings import Settings
from meshctl.cli.world import World
from meshctl.errors import Unreachable
from meshctl.outside.gcp import Calls
from meshctl.outside.shell import LocalShell
from meshctl.rollout.outcome import Outcome, StepRecord
from meshctl.ui.output import Output
from tests import builders
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_ground import World as Small
from tests.fakes.fake_http import FakeHttp, Scripted, answer

ENTRY = {"textPayload": "out of \x1b[2Jmemory", "timestamp": "2026-11-30T20:44:00Z"}


def told(given: Scripted, outcome: Outcome) -> tuple[str, FakeHttp]:
    stderr, http = io.StringIO(), FakeHttp({"POST /v2/entries:list": [given]})
    output = Output("table", io.StringIO(), io.StringIO(), stderr, verbose=True)
    who = Small().ground().who
    world = World(Settings(), {}, FakeClock(), http, LocalShell(), who, output, Calls())
    place = builders.place().model_copy(update={"emulator": "http://cloud.fake"})
    tell_last_lines(world, replace(Small().ground(), place=place), outcome)
    return stderr.getvalue(), http


def failed(kind: str, status: str = "failed", **changed: Any) -> Outcome:
    step = StepRecord.model_validate(
        {"id": f"02-{kind}", "kind": kind, "text": "", "status": status, "seconds": 1.0}
    )
    given = {"run": "r", "verb": "deploy", "service": "chat", "target": "local", "verdict": None,
             "exit_code": 3, "message": "", "revision": "chat-2", "steps": (step,)}  # fmt: skip
    return Outcome.model_validate(given | changed)


@pytest.mark.parametrize("kind", ["place", "check"])
def test_the_last_lines_of_what_did_not_prove_itself_are_told(kind: str) -> None:
    said, http = told(answer(200, {"entries": [ENTRY]}), failed(kind))

    assert "the last lines of chat-2:" in said
    assert "20:44:00  out of \\x1b[2Jmemory" in said, "a terminal obeys nothing of it"
    assert 'revision_name="chat-2"' in http.asked[0].body["filter"]
    assert len(http.asked) == 1


@pytest.mark.parametrize(
    "given", [answer(403, {}), answer(200, "no JSON"), Unreachable("no route"), answer(200, {})]
)
def test_a_log_that_cannot_be_read_is_a_detail(given: Scripted) -> None:
    said, _ = told(given, failed("place"))

    assert "the last lines" not in said
    assert "no log of chat-2" in said


@pytest.mark.parametrize(
    "outcome", [failed("place", "done"), failed("shift"), failed("place", revision=None)]
)
def test_what_is_no_failure_of_a_candidate_asks_for_no_log(outcome: Outcome) -> None:
    _, http = told(answer(200, {"entries": [ENTRY]}), outcome)

    assert http.asked == []
