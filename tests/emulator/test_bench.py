"""`meshctl bench run SERVICE`, by process: what serves is asked, and nothing is changed."""

from __future__ import annotations

from tests.emulator.bench import Bench


def test_a_service_is_asked_where_it_serves_and_its_release_is_named(bench: Bench) -> None:
    """The small engine says nine words, whatever it is asked: no bench may call that a speed."""
    deployed = bench.deploy("chat")
    runs, split = bench.runs(), bench.split()

    found = bench.json("bench", "run", "chat", "--depths", "none", code=9)

    flaws = {flaw["id"] for flaw in found["invalid"]}
    assert (found["kind"], found["valid"]) == ("bench/v1", False)
    assert {"ended-early", "few-tokens", "no-speed"} <= flaws
    assert found["provenance"]["release"] == deployed["to_release"]
    assert found["provenance"]["revision"] == deployed["revision"]
    assert {run["error"] for run in found["runs"]} == {""}
    assert (bench.runs(), bench.split()) == (runs, split)


def test_a_service_that_is_not_there_is_refused(bench: Bench) -> None:
    refused = bench.json("bench", "run", "chat", code=8)

    assert "meshctl" in refused["hint"]
