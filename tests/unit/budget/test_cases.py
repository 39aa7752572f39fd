"""What engines printed for public models, number by number (tests/cases/budget)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.budget.budget import Budget
from meshctl.budget.read import budget_of_text

CASES = Path(__file__).parents[2] / "cases/budget"
MODELS = yaml.safe_load((CASES / "models.yaml").read_text())


def cases(name: str) -> list[Any]:
    rows = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    return [pytest.param(row, id=row["name"]) for row in rows]


def planned(engine: str, case: dict[str, Any]) -> Budget:
    geometry = {"engine": engine, **MODELS[case["model"]], **case["geometry"]}
    return budget_of_text(json.dumps(geometry), "case.json")


@pytest.mark.parametrize("case", cases("vllm"))
def test_vllm_cuts_its_pool_as_it_printed(case: dict[str, Any]) -> None:
    budget = planned("vllm", case)

    found = {key: getattr(budget, key) for key in case["expect"]}
    expected = dict(case["expect"])
    if "max_concurrency" in expected:
        found["max_concurrency"] = round(found["max_concurrency"], 2)
    assert found == expected


@pytest.mark.parametrize("case", cases("llama"))
def test_llama_cpp_allocates_what_it_printed(case: dict[str, Any]) -> None:
    budget = planned("llama.cpp", case)

    assert {key: getattr(budget, key) for key in case["expect"]} == case["expect"]
    for cache in budget.kv_caches or () if "caches_mib" in case else ():
        assert round(cache.bytes / 2**20, 2) == case["caches_mib"][cache.name]
    if "state_mib" in case:
        assert (budget.state_bytes_per_sequence or 0) / 2**20 == case["state_mib"]


def test_every_model_of_the_table_is_asked_of() -> None:
    asked = {row.values[0]["model"] for row in cases("vllm") + cases("llama")}

    assert asked == set(MODELS)
