"""Runs that were interrupted, killed or timed out, and how they are taken up again, by process."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from tests.emulator.bench import Bench, call, client, end

BAKING = {"steps": [50, 100], "bake": "30s", "token_deadline": "2s"}


@pytest.fixture
def first(bench: Bench) -> dict[str, Any]:
    """The release that serves before anything is tried; the next one has to bake for long."""
    bench.declare(rollout={**BAKING, "bake": "0s"})
    deployed: dict[str, Any] = bench.deploy("chat")
    bench.declare(rollout=BAKING)
    bench.env(COLOUR="blue")
    return deployed


def baking(bench: Bench, *words: str) -> Any:
    """A deploy in the middle of its first bake: half of the traffic is moved."""
    process = bench.start("-o", "json", "deploy", "chat", "-y", *words)
    bench.until_event("started", "05-check")
    return process


def became_of(bench: Bench, of: dict[str, Any]) -> str:
    """What history says of the newest rollout past that one; explain must agree on it."""
    rows: list[dict[str, Any]] = bench.json("history", "chat")["releases"]
    row = next(r for r in rows if r["verb"] == "deploy" and r["release"] != of["to_release"])
    story = bench.json("explain", row["run"])
    assert (row["verdict"], story["verdict"]) == (None, None)
    assert story["ended"].startswith(row["ended"])
    return str(story["ended"])


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_undoes_what_was_begun_and_ends_with_130(
    bench: Bench, first: dict[str, Any], sign: signal.Signals
) -> None:
    process = baking(bench)

    with client(bench) as wrong:
        process.send_signal(sign)
        stopped = end(process)

    assert wrong == []
    assert stopped.code == 130, stopped.err
    assert (stopped.json["exit_code"], stopped.json["restored"]) == (130, True)
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}
    assert bench.json("status")["services"][0]["state"] == "READY"
    assert became_of(bench, first) == "interrupted"


def test_a_second_signal_stops_the_way_back_and_says_what_is_left(
    bench: Bench, first: dict[str, Any]
) -> None:
    process = baking(bench)
    slow = {"do": "latency", "method": "PATCH", "path": bench.name, "seconds": 2.0}
    call(bench.url, "POST", "/emulator/faults", slow)

    process.send_signal(signal.SIGINT)
    bench.until_event("undoing", "04-shift")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    stopped = end(process)

    assert stopped.code == 4, stopped.err
    assert stopped.json["restored"] is False
    assert bench.split() == {first["revision"]: 100}
    assert len(bench.tags()) == 1


def test_what_is_left_after_two_signals_are_commands_that_work(
    bench: Bench, first: dict[str, Any]
) -> None:
    process = baking(bench)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # another one, for two of a kind may arrive as one
    assert end(process).code == 4

    left = bench.json("explain", "chat")["next"]
    commands = [line.strip("`").split()[1:] for line in left if line.startswith("meshctl ")]
    assert commands, left
    finished = bench.meshctl(*commands[0], "-y")

    assert finished.code in (0, 130), finished.err
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}


def test_a_time_limit_undoes_like_a_signal(bench: Bench, first: dict[str, Any]) -> None:
    stopped = bench.meshctl("-o", "json", "--timeout", "3s", "deploy", "chat", "-y")

    assert stopped.code == 130, stopped.err
    assert "--timeout" in stopped.err
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}


def test_a_killed_run_is_told_refused_and_resumed(bench: Bench, first: dict[str, Any]) -> None:
    process = baking(bench)
    process.kill()
    process.wait()
    bench.declare(rollout={**BAKING, "bake": "0s"})

    told = bench.meshctl("status")
    refused = bench.deploy("chat", code=8)

    assert "unfinished" in told.out
    assert "meshctl resume chat" in refused["hint"]
    assert "meshctl abort chat" in refused["hint"]
    assert len(bench.split()) == 2


def test_a_killed_run_that_is_resumed_ends_as_if_nothing_had_happened(bench: Bench) -> None:
    bench.declare(rollout={"steps": [50, 100], "bake": "2s", "token_deadline": "2s"})
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    process = baking(bench)
    process.kill()
    process.wait()

    with client(bench) as wrong:
        resumed = bench.json("resume", "chat")

    assert wrong == []
    assert resumed["verdict"] == "pass"
    assert {step["status"] for step in resumed["steps"]} == {"done"}
    assert bench.split() == {resumed["revision"]: 100}
    assert bench.tags() == {}


def test_a_killed_run_is_aborted_without_its_fleet_file(
    bench: Bench, first: dict[str, Any]
) -> None:
    process = baking(bench)
    process.kill()
    process.wait()
    bench.file.write_text("services: [")

    aborted = bench.json("abort", "chat", "-y", code=0)

    assert aborted["restored"] is True
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}


def test_without_an_unfinished_run_there_is_nothing_to_resume_or_abort(bench: Bench) -> None:
    bench.deploy("chat")

    resumed = bench.json("resume", "chat", code=8)
    aborted = bench.json("abort", "chat", "-y", code=8)

    assert "no unfinished run" in resumed["message"]
    assert "no unfinished run" in aborted["message"]


def test_rollback_preempts_a_rollout_and_the_old_release_serves(
    bench: Bench, first: dict[str, Any]
) -> None:
    process = baking(bench)

    with client(bench) as wrong:
        back = bench.json("rollback", "chat", "-y")
        preempted = end(process)

    assert wrong == []
    assert back["to_release"] == first["to_release"]
    assert bench.split() == {first["revision"]: 100}
    assert preempted.code == 5, preempted.err
    assert bench.split() == {first["revision"]: 100}
    assert became_of(bench, first).startswith("taken over by rollback of ")
    bench.json("resume", "chat", code=8)


@pytest.mark.parametrize("steps", [[5, 100], [50, 100], [95, 100]])
def test_rollback_in_the_middle_of_a_rollout_goes_to_what_served_before_it(
    bench: Bench, steps: list[int]
) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="red")
    red = bench.deploy("chat")
    bench.declare(rollout={**BAKING, "steps": steps})
    bench.env(COLOUR="blue")
    process = baking(bench)

    bench.json("rollback", "chat", "-y")

    assert end(process).code == 5
    assert bench.split() == {red["revision"]: 100}


def test_abort_preempts_a_rollout_which_then_touches_nothing(
    bench: Bench, first: dict[str, Any]
) -> None:
    process = baking(bench)

    aborted = bench.json("abort", "chat", "-y", "--reason", "wrong model")
    preempted = end(process)

    assert (aborted["exit_code"], aborted["restored"]) == (0, True)
    assert preempted.code == 5, preempted.err
    assert preempted.json["kind"] == "error/v1"
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}
    assert became_of(bench, first) == "aborted"


WEDGED = {"checks": ["completion"], "rollout": {"token_deadline": "60s"}}


def test_a_signal_ends_a_question_to_a_wedged_engine_at_once(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.declare(**WEDGED)
    bench.env(MODE="wedged")
    process = bench.start("-o", "json", "canary", "chat", "-y")
    bench.until_event("started", "03-check")
    time.sleep(1)

    process.send_signal(signal.SIGINT)
    stopped = end(process, timeout_s=20)

    assert stopped.code == 130, stopped.err
    assert stopped.json["restored"] is True
    assert bench.tags() == {}


def test_a_signal_ends_verify_at_once_and_no_verdict_is_recorded(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.declare(checks=["completion"], rollout={"token_deadline": "1s"})
    bench.env(MODE="wedged")
    bench.json("canary", "chat", "-y", "--tag", "v2", "--keep", code=3)
    bench.declare(**WEDGED)
    runs = bench.runs()
    process = bench.start("-o", "json", "verify", "chat", "--tag", "v2")
    time.sleep(3)

    process.send_signal(signal.SIGTERM)
    stopped = end(process, timeout_s=20)

    assert stopped.code == 130, stopped.err
    assert bench.runs() == runs


def test_a_signal_while_the_cloud_is_slow_to_answer_ends_a_plan_at_once(
    bench: Bench, first: dict[str, Any]
) -> None:
    slow = {"do": "latency", "method": "GET", "path": bench.name, "seconds": 25.0}
    call(bench.url, "POST", "/emulator/faults", slow)
    process = bench.start("plan")
    time.sleep(3)

    process.send_signal(signal.SIGINT)

    assert end(process, timeout_s=15).code == 130


def test_a_first_deploy_that_is_interrupted_leaves_no_service(bench: Bench) -> None:
    bench.env(MODE="slow")
    process = bench.start("-o", "json", "deploy", "chat", "-y")
    bench.until_event("started", "03-check")

    process.send_signal(signal.SIGINT)
    stopped = end(process)

    assert stopped.code == 130, stopped.err
    assert bench.service() is None
