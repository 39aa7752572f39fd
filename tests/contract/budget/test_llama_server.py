"""The real llama-server allocates exactly the caches that the planner predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from meshctl.budget.budget import Budget
from meshctl.budget.read import budget_of_text
from tests.contract.budget.engine import (
    ARCHS,
    Printed,
    caches_of,
    metadata_of,
    refuses,
    write_model,
)

SHAPES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "as it comes": ({}, []),
    "three slots of an odd context": (
        {"context": 5000, "sequences": 3},
        ["-c", "5000", "-np", "3"],
    ),
    "one pool of quantised keys and values": (
        {"context": 4096, "sequences": 2, "kv_unified": True, "kv_dtype": "q8_0"},
        ["-c", "4096", "-np", "2", "-kvu", "-ctk", "q8_0", "-ctv", "q8_0"],
    ),
    "full windows without flash attention": (
        {"context": 3000, "sequences": 2, "swa_full": True, "flash_attn": False, "ubatch": 128},
        ["-c", "3000", "-np", "2", "--swa-full", "-fa", "off", "-ub", "128"],
    ),
    "small batches of wide keys": (
        {"context": 8192, "sequences": 5, "kv_dtype": "f32", "batched_tokens": 256},
        ["-c", "8192", "-np", "5", "-ctk", "f32", "-ctv", "f32", "-b", "256"],
    ),
}  # fmt: skip


def predicted(arch: str, shape: dict[str, Any]) -> Budget:
    geometry = {"engine": "llama.cpp", "gguf": metadata_of(arch), **shape}
    return budget_of_text(json.dumps(geometry), "tiny.json")


def as_printed(budget: Budget) -> Printed:
    """The prediction in the words of the log."""
    lines = {line.name: line.value for line in budget.why}
    sequences = int(lines["sequences"] or 0)
    streams = 1 if lines["kv_unified"] else sequences
    caches = budget.kv_caches or ()
    state = budget.state_bytes or 0
    return Printed(
        caches=tuple((f"{c.bytes / 2**20:.2f}", c.cells, c.layers, streams) for c in caches),
        state=(f"{state / 2**20:.2f}", sequences) if state else None,
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    for arch in ARCHS:
        write_model(arch, folder / f"{arch}.gguf")
    return folder


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("arch", ARCHS)
def test_the_engine_prints_the_sizes_that_were_predicted(
    arch: str, shape: str, models: Path
) -> None:
    settings, flags = SHAPES[shape]

    printed = caches_of(models / f"{arch}.gguf", *flags)

    assert printed == as_printed(predicted(arch, settings))


MIXED = {"context": 4096, "sequences": 2, "kv_dtype_k": "q8_0", "kv_dtype_v": "q4_0"}
MIXED_FLAGS = ["-c", "4096", "-np", "2", "-ctk", "q8_0", "-ctv", "q4_0"]


@pytest.mark.parametrize("arch", ["llama", "gemma4"])
def test_keys_and_values_of_two_types_are_sized_each_by_its_own(arch: str, models: Path) -> None:
    printed = caches_of(models / f"{arch}.gguf", *MIXED_FLAGS)

    assert printed == as_printed(predicted(arch, MIXED))


@pytest.mark.parametrize("arch", ["deepseek2", "kimi-linear", "glm-dsa"])
def test_a_latent_of_two_types_is_refused_by_the_engine_as_predicted(
    arch: str, models: Path
) -> None:
    budget = predicted(arch, MIXED)

    refused = refuses(models / f"{arch}.gguf", "does not support different K", *MIXED_FLAGS)

    assert refused
    assert (budget.verdict, budget.binds) == ("no", "kv_dtype")


def test_models_of_many_families_are_asked() -> None:
    assert len({metadata_of(name)["general.architecture"] for name in ARCHS}) >= 37
