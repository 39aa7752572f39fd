"""Who may change a service while somebody else does, by process."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.bench import Bench, end

BAKING = {"steps": [50, 100], "bake": "30s", "token_deadline": "2s"}


@pytest.fixture
def first(bench: Bench) -> dict[str, Any]:
    """A service that serves, and a fleet file that wants the next release of it."""
    bench.declare(rollout={**BAKING, "bake": "0s"})
    deployed: dict[str, Any] = bench.deploy("chat")
    bench.env(COLOUR="blue")
    return deployed


def held(bench: Bench, bake: str = "30s") -> Any:
    """A deploy that bakes, and so holds the lock."""
    bench.declare(rollout={**BAKING, "bake": bake})
    process = bench.start("-o", "json", "deploy", "chat", "-y")
    bench.until_event("started", "05-check")
    return process


def lock_file(bench: Bench) -> Path:
    return bench.folder / ".meshctl/state/locks/local:local1" / f"{bench.name}.json"


@pytest.mark.parametrize("words", [("deploy",), ("canary",), ("cutover",), ("resume",)])
def test_a_second_one_is_told_who_since_when_what_for_and_until_when(
    bench: Bench, first: dict[str, Any], words: tuple[str, ...]
) -> None:
    held(bench)
    holder = json.loads(lock_file(bench).read_text())
    before = bench.service()

    refused = bench.json(*words, "chat", "-y", code=5)

    assert refused["class"] == "LockHeld"
    since = f"since {holder['since'][:16].replace('T', ' ')} UTC"
    for fact in (getpass.getuser(), since, "deploy", holder["run"], "lease until"):
        assert fact in refused["message"]
    assert bench.service() == before


def test_whoever_waits_for_the_lock_gets_it(bench: Bench, first: dict[str, Any]) -> None:
    process = held(bench, bake="1s")

    waited = bench.json("deploy", "chat", "-y", "--lock-wait", "30s")

    assert end(process).code == 0
    assert (waited["exit_code"], waited["steps"]) == (0, [])


def test_waiting_for_a_lock_has_an_end(bench: Bench, first: dict[str, Any]) -> None:
    held(bench)

    assert bench.json("deploy", "chat", "-y", "--lock-wait", "1s", code=5)["class"] == "LockHeld"


def test_asking_needs_no_lock(bench: Bench, first: dict[str, Any]) -> None:
    held(bench)

    assert bench.json("status")["services"][0]["state"] == "DEPLOYING"
    assert bench.meshctl("plan").code in (0, 8)
    assert bench.json("verify", "chat")["verdict"] in ("pass", "unclear", "fail")
    assert bench.json("history", "chat")["kind"] == "history/v1"


def test_a_dead_holder_is_taken_over_at_once(bench: Bench, first: dict[str, Any]) -> None:
    process = held(bench, bake="1s")
    process.kill()
    process.wait()

    assert bench.json("lock", "status")["locks"][0]["state"] == "expired"
    assert bench.json("resume", "chat")["verdict"] == "pass"


def test_a_frozen_service_is_left_alone_until_it_is_let_go(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.json("lock", "acquire", "chat", "-m", "conference demo")

    for words in (("deploy",), ("canary",), ("rollback",), ("abort",), ("cutover",)):
        refused = bench.json(*words, "chat", "-y", code=5)
        assert "conference demo" in refused["message"]
        assert "meshctl lock release chat" in refused["hint"]
    assert bench.split() == {first["revision"]: 100}
    assert bench.json("lock", "release", "chat")["locks"][0]["state"] == "free"
    assert bench.deploy("chat")["exit_code"] == 0


def test_a_lock_is_broken_only_with_a_reason(bench: Bench, first: dict[str, Any]) -> None:
    bench.json("lock", "acquire", "chat", "-m", "conference demo")

    silent = bench.json("lock", "break", "chat", "-y", code=64)
    broken = bench.json("lock", "break", "chat", "-y", "--reason", "it is over")

    assert "--reason" in silent["hint"]
    assert broken["locks"][0]["state"] == "free"


def test_a_frozen_service_is_freed_with_a_broken_fleet_file(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.json("lock", "acquire", "chat", "-m", "conference demo")
    bench.file.write_text("services: [")

    assert bench.json("lock", "status")["locks"][0]["state"] == "frozen"
    assert bench.json("lock", "release", "chat")["locks"][0]["state"] == "free"


def test_whose_lock_was_broken_touches_nothing_more(bench: Bench, first: dict[str, Any]) -> None:
    process = held(bench, bake="3s")
    before = bench.split()

    bench.json("lock", "break", "chat", "-y", "--reason", "drill")
    stopped = end(process)

    assert stopped.code == 5, stopped.err
    assert bench.split() == before


def test_a_rollouts_lock_is_nobodys_to_release(bench: Bench, first: dict[str, Any]) -> None:
    held(bench)

    assert bench.json("lock", "release", "chat", code=5)["class"] == "LockHeld"
    assert bench.json("lock", "status")["locks"][0]["state"] == "held"


def test_a_freeze_during_a_rollout_is_refused(bench: Bench, first: dict[str, Any]) -> None:
    held(bench)

    assert bench.json("lock", "acquire", "chat", "-m", "mine", code=5)["class"] == "LockHeld"


def test_services_do_not_wait_for_each_other(bench: Bench, first: dict[str, Any]) -> None:
    held(bench)
    bench.declare("other")

    assert bench.deploy("other")["exit_code"] == 0


def test_a_lock_object_that_nobody_can_read_is_named(bench: Bench, first: dict[str, Any]) -> None:
    lock_file(bench).write_text("{")

    shown = bench.json("lock", "status")["locks"][0]["state"]
    refused = bench.meshctl("deploy", "chat", "-y")
    bench.json("lock", "break", "chat", "-y", "--reason", "damaged")
    freed = bench.meshctl("deploy", "chat", "-y")

    assert (shown, refused.code, freed.code) == ("unreadable", 5, 0), freed.err
    assert "meshctl lock break chat" in refused.err
