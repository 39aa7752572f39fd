"""What serves is told by what is in force, whatever became of the run that brought it."""

from __future__ import annotations

from typing import Any

from tests.emulator.bench import Bench


def serving(bench: Bench) -> set[str]:
    releases: list[dict[str, Any]] = bench.json("history", "chat")["releases"]
    return {str(row["revision"]) for row in releases if row["serving"]}


def test_what_serves_is_told_while_a_run_is_unfinished_and_while_traffic_is_split(
    bench: Bench,
) -> None:
    first = bench.deploy("chat")
    bench.env(COLOUR="blue")
    bench.declare(rollout={"steps": [100], "bake": "30s", "token_deadline": "2s", "confirm": 1})
    process = bench.start("deploy", "chat", "-y")
    bench.until_event("started", "05-check")
    process.kill()
    process.wait()

    alone = set(bench.split())
    told = serving(bench)
    table = bench.meshctl("history", "chat").out
    bench.shift({first["revision"]: 50, next(iter(alone)): 50})

    assert first["revision"] not in alone
    assert told == alone
    assert any(line.startswith("serving ") for line in table.splitlines())
    assert serving(bench) == {first["revision"], *alone}
