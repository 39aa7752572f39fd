"""Why a candidate did not get ready, from its log on the cloud, through the real meshctl."""

from __future__ import annotations

from typing import Any

from meshctl.ui.asked import Findings
from tests.emulator.bench import Bench


def diagnosed(bench: Bench, *words: str) -> Any:
    document = bench.json("diagnose", "chat", *words)
    assert Findings.model_validate(document).data() == document
    return document


def test_the_cause_of_a_candidate_that_does_not_start_is_named_once_it_is_asked(
    bench: Bench,
) -> None:
    bench.deploy("chat")
    bench.env(MODE="exit", SAYS="OSError: [Errno 28] No space left on device: '/cache'")
    failed = bench.json("deploy", "chat", "-y", code=3)

    candidate, log = diagnosed(bench, "--candidate"), bench.json("logs", "chat", "--candidate")

    found = candidate["findings"][0]
    assert found["id"] == "disk-full"
    assert found["line"] == log["cause"], "logs and diagnose name the same cause"
    assert found["line"] in failed["message"], "and so does the deploy that failed"
    assert found["remedy"] == failed["hint"] == log["remedy"]


def test_a_service_that_is_well_shows_nothing_and_its_last_lines(bench: Bench) -> None:
    bench.deploy("chat")

    shown = diagnosed(bench)

    assert (shown["findings"], shown["complaint"]) == ([], None)
    assert shown["last_lines"] and shown["source"] == "local/chat"
