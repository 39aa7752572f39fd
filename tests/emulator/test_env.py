"""Two environments beside each other, and one brought to the fleet file, by process."""

from __future__ import annotations

from typing import Any

from meshctl.ui.federation import EnvDiff
from tests.emulator.bench import Bench


def diff(bench: Bench, *words: str) -> dict[str, Any]:
    """What differs, by name, proved to be of its kind."""
    document = bench.json("env", "diff", *words)
    assert EnvDiff.model_validate(document).data() == document
    rows = {row["name"]: row for row in document["keys"] if row["state"] != "same"}
    assert document["unexpected"] == sum(not row["expected"] for row in rows.values())
    return rows


def test_keys_of_two_services_are_compared_and_what_should_differ_is_told_apart(
    bench: Bench,
) -> None:
    bench.declare("other", env={"MODE": "ok", "PASSWORD": "correct horse"}, models={"big": {}})
    bench.deploy()

    live = bench.meshctl("env", "diff", "chat", "other")
    found = diff(bench, "chat", "other")
    shown = diff(bench, "chat", "other", "--show-values")

    assert {name: row["state"] for name, row in found.items()} == {
        "MESH_DEFAULT_MODEL": "differs",
        "MESH_MODELS": "differs",
        "MESH_RELEASE": "differs",
        "PASSWORD": "only-b",
    }
    assert [name for name, row in found.items() if not row["expected"]] == ["PASSWORD"]
    assert found["PASSWORD"]["b"].startswith("sha256:")
    assert shown["PASSWORD"]["b"] == "correct horse"
    assert (live.code, "correct horse" in live.out) == (0, False)


def test_what_serves_what_served_and_what_is_declared_can_be_compared(bench: Bench) -> None:
    red = bench.deploy("chat")
    bench.env(COLOUR="blue")
    blue = bench.deploy("chat")
    bench.declare("other", env={"MODE": "ok", "COLOUR": "green"})

    earlier = diff(bench, f"chat@{red['to_release']}", f"chat@{blue['revision']}")
    declared = diff(bench, "--declared", "chat", "other")
    unknown = bench.json("env", "diff", "chat", "chat@nothing", code=64)

    assert {name: row["state"] for name, row in earlier.items()} == {
        "COLOUR": "only-b", "MESH_RELEASE": "differs",
    }  # fmt: skip
    assert {name: row["state"] for name, row in declared.items()} == {"COLOUR": "differs"}
    assert "no release or revision 'nothing'" in unknown["message"]


def test_what_serves_is_compared_with_what_is_declared_for_it(bench: Bench) -> None:
    red = bench.deploy("chat")
    bench.env(COLOUR="blue")

    found = diff(bench, "chat", "--declared")
    earlier = diff(bench, f"chat@{red['to_release']}", "--declared")
    alone = bench.json("env", "diff", "chat", code=64)

    assert {name: row["state"] for name, row in found.items() if not row["expected"]} == {
        "COLOUR": "only-b"
    }
    assert earlier == found
    assert "`meshctl env diff chat --declared`" in alone["hint"]


def test_env_sync_rolls_out_the_env_and_nothing_else(bench: Bench) -> None:
    bench.deploy("chat")
    bench.declare(timeout="60s", scaling={"max": 3})
    bench.env(COLOUR="blue")

    synced = bench.json("env", "sync", "chat", "-y")
    again = bench.json("env", "sync", "chat", "-y")

    assert (synced["verb"], synced["verdict"]) == ("env-sync", "pass")
    assert [change["path"] for change in synced["changes"]] == ["env.COLOUR"]
    assert bench.split() == {synced["revision"]: 100}
    assert again["run"] == ""
    left = bench.json("plan")["services"][0]["changes"]
    assert [change["path"] for change in left] == ["scaling.max", "timeout"]


def test_env_sync_that_does_not_prove_itself_is_walked_back(bench: Bench) -> None:
    good = bench.deploy("chat")
    bench.env(MODE="two-faced")

    failed = bench.json("env", "sync", "chat", "-y", code=3)

    assert failed["restored"] is True
    assert bench.split() == {good["revision"]: 100}


def test_env_sync_does_not_touch_what_a_stranger_pinned(bench: Bench) -> None:
    red = bench.deploy("chat")
    bench.env(COLOUR="blue")
    blue = bench.deploy("chat")
    bench.shift({red["revision"]: 90, blue["revision"]: 10})
    bench.env(COLOUR="green")

    refused = bench.json("env", "sync", "chat", "-y", code=8)

    assert "pinned by a stranger" in refused["message"]
    assert "--take-traffic" in refused["hint"]
    assert bench.split() == {red["revision"]: 90, blue["revision"]: 10}


def test_env_sync_from_a_service_that_it_is_not_like_is_a_mistake(bench: Bench) -> None:
    bench.declare("other")

    wrong = bench.json("env", "sync", "chat", "--from", "other", "-y", code=64)

    assert wrong["hint"] == "write `like: other` into services.chat"
