"""What a service wrote, through the real meshctl."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from meshctl.ui.asked import Logs
from tests.emulator.bench import Bench, call


def logs(bench: Bench, *words: str) -> Any:
    document = bench.json("logs", "chat", *words)
    assert Logs.model_validate(document).data() == document
    return document


def texts(document: Any) -> str:
    return "\n".join(line["text"] for line in document["lines"])


def test_the_log_of_a_service_is_told_oldest_first_and_by_revision(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.env(COLOUR="blue")
    second = bench.deploy("chat")

    everything, one = logs(bench), logs(bench, "--release", first["to_release"])

    times = [line["at"] for line in everything["lines"]]
    assert times == sorted(times) and len(times) > 2
    assert {line["revision"] for line in everything["lines"]} == {
        first["revision"], second["revision"],
    }  # fmt: skip
    assert {line["revision"] for line in one["lines"]} == {first["revision"]}


def test_nothing_found_says_why_and_is_no_failure(bench: Bench) -> None:
    bench.deploy("chat")

    result = bench.meshctl("logs", "chat", "--revision", f"{bench.name}-none")

    assert result.code == 0
    assert "leave the revision out" in " ".join(result.out.split())


def test_a_candidate_that_does_not_start_leaves_its_last_lines_on_stderr(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(MODE="exit")

    failed = bench.meshctl("deploy", "chat", "-y")
    shown = logs(bench, "--candidate")

    assert failed.code == 3, failed.err
    revision = shown["lines"][-1]["revision"]
    assert f"the last lines of {revision}:" in failed.err
    assert shown["lines"][-1]["text"].split("\n")[-1] in failed.err
    assert revision != bench.json("status")["services"][0]["serving"][0]["revision"]


@pytest.fixture
def following(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    bench.deploy("chat")
    process = bench.start("logs", "chat", "--follow", "--since", "1s")
    yield process
    process.kill()
    process.wait()


def test_followed_the_log_goes_on_with_what_is_written_next(
    bench: Bench, following: subprocess.Popen[str]
) -> None:
    lines = following.stdout
    assert lines is not None and "\n" in next(iter(lines)), "what there was, or why nothing"

    call((bench.service() or {})["uri"], "GET", "/v1/models?followed=yes")
    found = next(line for line in lines if "followed=yes" in line)
    following.terminate()

    assert "GET /v1/models?followed=yes " in found
    assert following.wait(20) == 130


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--severity", "loud"], "no severity"),
        (["--limit", "0"], "out of range"),
        (["--since", "yesterday"], "--since"),
        (["--revision", "a b"], "no name of a revision"),
        (["--tag", "x", "--candidate"], "--candidate"),
        (["--follow", "-o", "json"], "--follow has no end"),
    ],
)
def test_a_question_that_cannot_be_asked_is_a_usage_error(
    bench: Bench, words: list[str], said: str
) -> None:
    result = bench.meshctl("logs", "chat", *words)

    assert result.code == 64, result.err
    assert said in result.err
