"""Traffic that somebody else moved, by process."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.emulator.bench import Bench, call, end


@pytest.fixture
def two(bench: Bench) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two releases, the second one serving."""
    red = bench.deploy("chat")
    bench.env(COLOUR="blue")
    return red, bench.deploy("chat")


def test_a_strangers_split_is_refused_and_named(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, blue = two
    bench.shift({red["revision"]: 90, blue["revision"]: 10})
    bench.env(COLOUR="green")

    refused = bench.deploy("chat", code=8)
    canary = bench.json("canary", "chat", "-y", code=8)

    for told in (refused, canary):
        assert f"{red['revision']} 90 %" in told["message"]
        assert "--take-traffic" in told["hint"]
    assert bench.json("status")["services"][0]["pinned"] is True
    assert bench.split() == {red["revision"]: 90, blue["revision"]: 10}


def test_with_take_traffic_it_carries_on(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, blue = two
    bench.shift({red["revision"]: 90, blue["revision"]: 10})
    bench.env(COLOUR="green")

    green = bench.deploy("chat", "--take-traffic")

    assert bench.split() == {green["revision"]: 100}
    assert bench.json("status")["services"][0]["pinned"] is False


def test_undo_restores_the_split_that_was_found(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, blue = two
    bench.shift({red["revision"]: 90, blue["revision"]: 10})
    bench.env(MODE="two-faced")

    failed = bench.json("deploy", "chat", "-y", "--take-traffic", code=3)

    assert failed["restored"] is True
    assert bench.split() == {red["revision"]: 90, blue["revision"]: 10}


def test_latest_is_named_so_that_a_canary_gets_nothing(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    _, blue = two
    bench.shift({"LATEST": 100})
    bench.env(COLOUR="green")

    canary = bench.json("canary", "chat", "-y", "--take-traffic", "--tag", "v3")

    assert bench.split() == {blue["revision"]: 100}
    assert bench.tags() == {"v3": canary["revision"]}


def test_cutover_follows_latest_only_on_purpose(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    bench.env(COLOUR="green")
    bench.json("canary", "chat", "-y", "--tag", "v3")

    bench.json("cutover", "chat", "-y", "--tag", "v3", "--follow-latest")

    assert bench.split() == {"LATEST": 100}
    assert bench.json("status")["services"][0]["pinned"] is False


def test_a_stranger_who_moves_traffic_in_the_middle_is_not_run_over(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, _ = two
    bench.declare(rollout={"steps": [50, 100], "bake": "3s", "token_deadline": "2s"})
    bench.env(COLOUR="green")
    process = bench.start("-o", "json", "deploy", "chat", "-y")
    bench.until_event("started", "05-check")

    bench.shift({red["revision"]: 100})
    stopped = end(process)

    assert stopped.code == 4, stopped.err
    assert bench.split() == {red["revision"]: 100}


def test_a_service_that_a_stranger_made_is_not_taken_silently(bench: Bench) -> None:
    bench.deploy("chat")
    state = bench.folder / ".meshctl/state"
    (state / "runs").rename(bench.folder / "runs-of-before")
    bench.env(COLOUR="blue")

    refused = bench.deploy("chat", code=8)

    assert "pinned by a stranger" in refused["message"]


def test_status_and_plan_show_what_is_asked_and_what_is_in_force(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    _, blue = two
    named = bench.json("status")["services"][0]["traffic"]
    bench.shift({"LATEST": 100})
    following = bench.json("status")["services"][0]["traffic"]
    bench.env(COLOUR="green")
    planned = bench.meshctl("plan", "chat")

    row = {"revision": blue["revision"], "percent": 100, "tag": None}
    assert named["desired"] == named["effective"] == [row | {"latest": False}]
    assert named["new_revision_percent"] == 0
    assert following["desired"] == following["effective"] == [row | {"latest": True}]
    assert following["new_revision_percent"] == 100
    told = " ".join(planned.out.split())
    assert f"traffic is {blue['revision']} 100 %; it follows LATEST" in told
    assert "a new revision would get 100 %" in told
    assert bench.split() == {"LATEST": 100}


def test_a_pin_says_what_a_deploy_would_get(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, blue = two
    bench.shift({red["revision"]: 90, blue["revision"]: 10})
    bench.env(COLOUR="green")

    status, plan = bench.meshctl("status"), bench.json("plan", code=8)["services"][0]

    told = " ".join(status.out.split())
    assert f"{red['revision']} 90 %, {blue['revision']} 10 %; a new revision gets 0 %" in told
    assert "pinned by a stranger" in told
    assert "--take-traffic" in told
    assert any("a new one gets 0 %" in note for note in plan["notes"])


def test_a_deploy_whose_release_lost_its_traffic_at_the_end_is_no_success(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    red, _ = two
    bench.declare(rollout={"bake": "1s", "token_deadline": "2s", "confirm": 1})
    bench.env(COLOUR="green")
    process = bench.start("-o", "json", "deploy", "chat", "-y")
    bench.until_event("started", "05-check")
    slow = {"do": "latency", "method": "PATCH", "path": bench.name, "seconds": 2.0}
    call(bench.url, "POST", "/emulator/faults", slow)
    bench.until_event("started", "06-retire")
    time.sleep(0.5)  # until its write is on the way, so that it is the slow one

    bench.shift({red["revision"]: 100})
    ended = end(process)

    assert ended.code == 4, ended.err
    assert f"{red['revision']} 100 %" in ended.json["message"]
    assert ended.json["traffic"] == {red["revision"]: 100}
    assert bench.split() == {red["revision"]: 100}


def test_a_conflict_says_what_somebody_else_changed_meanwhile(
    bench: Bench, two: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    bench.env(COLOUR="green")
    slow = {"do": "latency", "method": "PATCH", "path": bench.name, "seconds": 2.0}
    call(bench.url, "POST", "/emulator/faults", slow)
    process = bench.start("-v", "-o", "json", "deploy", "chat", "-y")
    bench.until_event("started", "02-place")

    path = f"/v2/projects/local/locations/local1/services/{bench.name}"
    mask = "?updateMask=scaling.minInstanceCount"
    time.sleep(0.5)  # until its write is on the way, so that it is the slow one
    status, _ = call(bench.url, "PATCH", path + mask, {"scaling": {"minInstanceCount": 1}})
    ended = end(process)

    assert (status, ended.code) == (200, 0), ended.err
    assert "try 2 of 6" in ended.err
    events = bench.events(ended.json["run"])
    placed = next(e for e in events if (e["kind"], e["step"]) == ("finished", "02-place"))
    (told,) = placed["data"]["seen"]["meanwhile"]
    assert told.endswith(f"changed {bench.name}: minimum instances 0 -> 1")
