"""How many calls each command makes of the cloud, so that growth is seen.

Polling is left out: how often an operation is asked depends on the machine, and it is not a call of
ours. Counted on a bench where everything works at the first try. The table for people is
`docs/api-calls.md`, and it is held to what is measured here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emulator.bench import Bench, call, calls_of

PAGE = Path(__file__).parents[2] / "docs" / "api-calls.md"
EXPECTED = {
    name: int(count)
    for name, count in re.findall(
        r"^\| `([^`]+)` \| [^|]* \| (\d+) \|$", PAGE.read_text(), re.MULTILINE
    )
}
"""The first column of the tables, and the last."""


def counted(bench: Bench, *words: str) -> list[str]:
    result = bench.meshctl("-v", *words, "-y")
    assert result.code == 0, result.err
    return calls_of(result)


def test_rollback_moves_traffic_with_its_third_call(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    bench.deploy("chat")

    calls = counted(bench, "rollback", "chat")

    assert calls.index("services.patch") <= 2, calls


def test_the_calls_of_every_command_are_those_of_the_page(bench: Bench) -> None:
    table = {"deploy": len(counted(bench, "deploy", "chat"))}
    table["deploy, up to date"] = len(counted(bench, "deploy", "chat"))
    table["status"] = len(counted(bench, "status"))
    table["plan"] = len(counted(bench, "plan"))
    table["verify"] = len(counted(bench, "verify", "chat"))
    bench.env(COLOUR="blue")
    table["deploy, beside"] = len(counted(bench, "deploy", "chat"))
    table["rollback"] = len(counted(bench, "rollback", "chat"))
    table["history"] = len(counted(bench, "history", "chat"))
    bench.env(COLOUR="green")
    table["canary"] = len(counted(bench, "canary", "chat", "--tag", "v3"))
    table["cutover"] = len(counted(bench, "cutover", "chat", "--tag", "v3"))
    bench.declare(scaling={"min": 1})
    table["deploy, scaling"] = len(counted(bench, "deploy", "chat"))
    table["lock status"] = len(counted(bench, "lock", "status"))
    table["explain"] = len(counted(bench, "explain", "chat"))
    for number in range(2, 6):
        bench.declare(f"more-{number}")
    table["plan, 5 services"] = len(counted(bench, "plan"))
    table["status, 5 services"] = len(counted(bench, "status"))

    assert table == EXPECTED


def test_a_plan_of_many_services_reads_the_region_once_and_says_what_it_left_out(
    bench: Bench,
) -> None:
    bench.deploy("chat")
    for number in range(2, 31):
        bench.declare(f"more-{number}")

    planned = bench.meshctl("-v", "-o", "json", "plan")

    assert sorted(calls_of(planned)) == ["revisions.list", "services.list"]
    chat, *others = planned.json["services"]
    assert chat["steps"] == []
    assert any("who may call it; `meshctl plan chat` asks" in note for note in chat["notes"])
    assert {one["strategy"] for one in others} == {"create"}


def test_a_call_that_fails_for_a_moment_is_made_again_and_only_told_when_asked(
    bench: Bench,
) -> None:
    bench.deploy("chat")
    busy = {"do": "status", "method": "GET", "path": "/services", "status": 503, "times": 2}
    quiet, told = {}, {}
    for of, words in ((quiet, ()), (told, ("-v",))):
        call(bench.url, "POST", "/emulator/faults", busy)
        of["result"] = bench.meshctl(*words, "status")

    assert (quiet["result"].code, told["result"].code) == (0, 0)
    assert "try 2 of 5" in told["result"].err
    assert "try 3 of 5" in told["result"].err
    assert "try" not in quiet["result"].err


@pytest.mark.parametrize("do", ["drop", "status"])
def test_a_write_that_failed_or_whose_answer_was_lost_is_found_out_by_reading(
    bench: Bench, do: str
) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    fault = {"do": do, "method": "PATCH", "path": f"services/{bench.name}"}
    call(bench.url, "POST", "/emulator/faults", fault)

    result = bench.meshctl("-v", "-o", "json", "deploy", "chat", "-y")

    assert result.code == 0, result.err
    assert len(bench.revisions()) == 2
    assert bench.split() == {result.json["revision"]: 100}
    assert result.err.count("services.patch template,traffic") == (1 if do == "drop" else 2)
    assert result.err.count("services.patch traffic") == 2
