"""What a boot measured, through the real meshctl: read from the log of what serves."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.ui.boot import BudgetBoot
from tests.emulator.bench import Bench, until
from tests.emulator.test_budget import CARD, model, put
from tests.unit.budget.boot_logs import LLAMA

FLAGS = ["-m", "/models/m.gguf", "-c", "8192", "-np", "2"]


def boot(bench: Bench, code: int = 0) -> Any:
    document = bench.json("budget", "boot", "chat", code=code)
    assert BudgetBoot.model_validate(document).data() == document
    return document


def serve(bench: Bench, *args: str, says: str) -> Any:
    bench.declare(
        role="standalone", args=list(args), env={"MODE": "ok", "SAYS": says}, resources=CARD,
        models={"small": {"payload": "p"}}, deliver="mount",
    )  # fmt: skip
    return bench.deploy("chat", "--despite-budget")


def test_the_log_of_what_serves_is_measured_and_the_next_plan_goes_by_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench, model(8), monkeypatch)
    deployed = serve(bench, *FLAGS, says=LLAMA)
    until(lambda: bench.meshctl("budget", "boot", "chat", "--no-record").code == 0, 90)

    told = boot(bench)
    shown = bench.json("budget", "show", "chat")

    rows = {row["name"]: row for row in told["rows"]}
    assert (told["source"], told["recorded"], told["findings"]) == (
        deployed["revision"], True, [],
    )  # fmt: skip
    assert (rows["caches"]["measured"], rows["caches"]["off"]) == (2**30, 0)
    weights = next(line for line in shown["why"] if line["name"] == "weights_bytes")
    assert (weights["value"], weights["source"]) == (7660 * 2**20, "measured")


def test_a_release_with_a_context_that_its_engine_cut_is_found_and_not_placed_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench, model(8), monkeypatch)
    flags = [*FLAGS[:2], "-c", "32768", "-np", "2"]
    serve(bench, *flags, says=LLAMA)
    until(lambda: bench.meshctl("budget", "boot", "chat", "--no-record").code == 9, 90)

    told = boot(bench, code=9)
    bench.env(SAYS="")
    planned = bench.json("plan", "chat", code=8)

    (finding,) = told["findings"]
    assert finding["id"] == "shrunk"
    (reason,) = planned["services"][0]["refused"]
    assert "4,096 tokens a request where 16,384 are declared" in reason["message"]
