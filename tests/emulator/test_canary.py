"""Canaries and the verdicts on them, by process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.bench import Bench


@pytest.fixture
def first(bench: Bench) -> dict[str, Any]:
    """The release that serves before anything is tried."""
    deployed: dict[str, Any] = bench.deploy("chat")
    return deployed


def test_a_canary_of_a_service_that_does_not_exist_is_refused_and_names_deploy(
    bench: Bench,
) -> None:
    refused = bench.json("canary", "chat", "-y", code=8)

    assert refused["hint"] == "deploy it: `meshctl deploy chat`"
    assert (bench.service(), bench.runs()) == (None, [])


def test_a_canary_is_placed_and_asked_at_no_traffic(bench: Bench, first: dict[str, Any]) -> None:
    bench.env(COLOUR="blue")

    canary = bench.json("canary", "chat", "-y", "--tag", "v2")

    assert (canary["verdict"], canary["exit_code"]) == ("pass", 0)
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {"v2": canary["revision"]}
    assert bench.ask(canary["tag_url"])[0] == 200
    assert bench.release() == first["to_release"]


def test_a_canary_that_fails_loses_its_tag(bench: Bench, first: dict[str, Any]) -> None:
    bench.env(MODE="lying")

    failed = bench.json("canary", "chat", "-y", "--tag", "v2", code=3)

    assert (failed["verdict"], failed["restored"]) == ("fail", True)
    assert bench.tags() == {}
    assert bench.split() == {first["revision"]: 100}


def test_a_canary_that_fails_is_kept_for_a_look_when_asked(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.env(MODE="lying")

    failed = bench.json("canary", "chat", "-y", "--tag", "v2", "--keep", code=3)

    assert bench.tags() == {"v2": failed["revision"]}
    assert bench.split() == {first["revision"]: 100}
    assert bench.json("verify", "chat", "--tag", "v2", code=9)["verdict"] == "fail"


def test_a_candidate_that_exits_at_once_fails_and_its_last_words_are_told(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.env(MODE="exit")

    failed = bench.meshctl("canary", "chat", "-y")

    assert failed.code == 3
    assert "the engine is out of memory" in failed.out
    assert bench.split() == {first["revision"]: 100}


def test_an_image_that_tells_no_release_is_asked_for_none_on_its_way_to_all_traffic(
    bench: Bench,
) -> None:
    bench.declare(args=[], env={"MODE": "impostor"})
    bench.deploy("chat")
    bench.env(COLOUR="blue")

    canary = bench.json("canary", "chat", "-y", "--tag", "v2")
    verified = bench.json("verify", "chat", "--tag", "v2")
    moved = bench.json("cutover", "chat", "-y")

    checks = (*canary["evidence"], *verified["checks"], *moved["evidence"])
    asked = [one["verdict"] for one in checks if one["name"].endswith("identity")]
    assert len(asked) >= 3 and set(asked) == {"skipped"}
    assert bench.split() == {canary["revision"]: 100}


def test_a_second_canary_takes_the_tag_over(bench: Bench, first: dict[str, Any]) -> None:
    bench.env(COLOUR="blue")
    bench.json("canary", "chat", "-y", "--tag", "v2")
    bench.env(COLOUR="green")

    green = bench.json("canary", "chat", "-y", "--tag", "v2")

    assert bench.tags() == {"v2": green["revision"]}


def test_a_canary_of_what_serves_has_nothing_to_do(bench: Bench, first: dict[str, Any]) -> None:
    runs = bench.runs()

    again = bench.json("canary", "chat", "-y")

    assert (again["exit_code"], again["steps"]) == (0, [])
    assert bench.runs() == runs


@pytest.mark.parametrize(
    ("mode", "code", "verdict"), [("ok", 0, "pass"), ("lying", 9, "fail"), ("busy", 7, "unclear")]
)
def test_verify_says_what_a_tag_shows_and_changes_nothing(
    bench: Bench, first: dict[str, Any], mode: str, code: int, verdict: str
) -> None:
    bench.env(MODE=mode, COLOUR="blue")
    bench.json("canary", "chat", "-y", "--tag", "v2", "--keep", code={0: 0, 9: 3, 7: 7}[code])
    before = bench.service()

    verified = bench.json("verify", "chat", "--tag", "v2", code=code)

    assert verified["verdict"] == verdict
    assert bench.service() == before


def test_verify_asks_only_what_it_was_told_to(bench: Bench, first: dict[str, Any]) -> None:
    bench.declare(checks=["contract"])

    verified = bench.json("verify", "chat", "--only", "stream")

    names = {check["name"] for check in verified["checks"] if check["verdict"] == "pass"}
    assert names == {"reachable", "stream"}
    assert bench.json("verify", "chat", "--only", "streem", code=64)["kind"] == "error/v1"


def test_a_later_bad_verdict_takes_the_right_to_serve_away(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.env(MODE="fades")
    canary = bench.json("canary", "chat", "-y", "--tag", "v2")
    bench.json("verify", "chat", "--tag", "v2", code=9)

    refused = bench.json("cutover", "chat", "-y", "--tag", "v2", code=8)

    assert canary["revision"] in refused["message"]
    assert "fail" in refused["message"]
    assert bench.split() == {first["revision"]: 100}


def test_an_unknown_tag_is_a_usage_error_that_lists_the_tags(
    bench: Bench, first: dict[str, Any]
) -> None:
    wrong = bench.json("verify", "chat", "--tag", "v3", code=64)

    assert "v3" in wrong["message"]
