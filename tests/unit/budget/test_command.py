"""`meshctl budget show` as a process: no fleet, YAML or JSON, a file or stdin, exit 0, 9 or 64."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshctl.budget.read import budget_of_text
from meshctl.budget.settings import Geometry
from meshctl.ui.budget import Budget, budget_document
from meshctl.ui.names import names
from meshctl.ui.render import render

GIB = 2**30
AGREED = [
    "verdict",
    "binds",
    "kv_bytes_per_token",
    "block_tokens",
    "bytes_per_block",
    "num_blocks",
    "state_bytes_per_sequence",
    "state_bytes",
    "pool_bytes",
    "kv_tokens",
    "max_concurrency",
    "kv_caches",
    "weights_bytes",
    "graphs_bytes",
    "arena_bytes",
    "non_torch_bytes",
    "overhead_low_bytes",
    "overhead_high_bytes",
    "usable_bytes",
    "margin_bytes",
    "why",
]
GEOMETRIES: dict[str, dict[str, Any]] = {
    "llama": {
        "engine": "llama.cpp", "context": 655_360, "sequences": 4, "device_bytes": 114 * GIB,
        "weights_bytes": 17_555_000_000,
        "gguf": {"general.architecture": "qwen35", "qwen35.block_count": 64,
                 "qwen35.embedding_length": 5120, "qwen35.attention.head_count": 24,
                 "qwen35.attention.head_count_kv": 4, "qwen35.attention.key_length": 256,
                 "qwen35.attention.value_length": 256, "qwen35.ssm.conv_kernel": 4,
                 "qwen35.ssm.inner_size": 6144, "qwen35.ssm.state_size": 128,
                 "qwen35.ssm.time_step_rank": 48, "qwen35.ssm.group_count": 16},
    },
    "vllm": {
        "engine": "vllm", "engine_version": "0.33.0", "context": 32_768,
        "device_bytes": 23_665_811_783, "weights_bytes": 16_096_000_000,
        "config": {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
                   "num_key_value_heads": 8, "hidden_size": 4096},
    },
    "too-large": {
        "engine": "llama.cpp", "context": 131_072, "device_bytes": 24 * GIB,
        "weights_bytes": 20 * GIB,
        "config": {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
                   "num_key_value_heads": 8, "hidden_size": 4096},
    },
    "unknown": {
        "engine": "vllm", "context": 4096, "config": {"model_type": "deepseek_v4"},
    },
}  # fmt: skip


def meshctl(*words: str, stdin: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "meshctl", *words],
        input=stdin, cwd=cwd, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def document(name: str, *, explain: bool = False) -> Budget:
    found = budget_of_text(json.dumps(GEOMETRIES[name]), "g.json")
    return budget_document(found, explain=explain)


def test_a_file_is_answered_with_every_agreed_key(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps(GEOMETRIES["llama"]))

    done = meshctl("budget", "show", "--geometry", "g.json", "-o", "json", cwd=tmp_path)

    told = json.loads(done.stdout)
    assert (done.returncode, told["kind"], told["verdict"]) == (0, "budget/v1", "fits")
    assert set(told) == {"kind", *AGREED}
    assert told["pool_bytes"] == 40 * GIB
    assert told["kv_caches"] == [
        {"name": "full", "layers": 16, "cells": 163_840, "bytes": 40 * GIB}
    ]  # fmt: skip
    assert {"name", "value", "source", "text"} == set(told["why"][0])
    assert told["bytes_per_block"] is told["arena_bytes"] is None


def test_stdin_is_answered_and_what_does_not_fit_exits_9(tmp_path: Path) -> None:
    done = meshctl(
        "budget", "show", "--geometry", "-", stdin=json.dumps(GEOMETRIES["too-large"]), cwd=tmp_path
    )

    assert done.returncode == 9
    assert done.stdout.startswith("✗ no: device_bytes binds\n")


def test_an_unknown_family_exits_9_and_its_json_has_every_key(tmp_path: Path) -> None:
    text = json.dumps(GEOMETRIES["unknown"])

    done = meshctl("budget", "show", "--geometry", "-", "-o", "json", stdin=text, cwd=tmp_path)

    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"], told["binds"]) == (9, "unknown", "model")
    assert set(told) == {"kind", *AGREED}


def test_a_bad_file_exits_64_with_the_place_and_the_near_name(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("engine: vllm\ncontxt: 5\nconfig: {num_hidden_layers: 2}\n")

    done = meshctl("budget", "show", "--geometry", "g.yaml", cwd=tmp_path)

    assert done.returncode == 64
    assert "g.yaml:2:1" in done.stderr
    assert 'did you mean "context"?' in done.stderr


def test_a_missing_file_and_a_missing_option_exit_64(tmp_path: Path) -> None:
    missing = meshctl("budget", "show", "--geometry", "g.yaml", cwd=tmp_path)
    without = meshctl("budget", "show", cwd=tmp_path)

    assert (missing.returncode, without.returncode) == (64, 64)
    assert "No such file" in missing.stderr
    assert "--geometry" in without.stderr


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_budget_looks_like_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"ui/budget-{name}", "\n".join(render(document(name))) + "\n")


def test_the_arithmetic_looks_like_the_golden_one(golden: Callable[[str, str], None]) -> None:
    golden("ui/budget-why", "\n".join(render(document("vllm", explain=True))) + "\n")


@pytest.mark.parametrize("name", GEOMETRIES)
def test_no_line_is_wider_than_80_columns(name: str) -> None:
    lines = render(document(name, explain=True))

    assert [line for line in lines if len(line) > 80] == []


def test_the_bar_is_as_long_as_the_device_and_each_part_as_its_share() -> None:
    bar = next(line for line in render(document("llama")) if line.startswith("  ["))

    inside = bar.strip()[1:-1]
    assert len(inside) == 74
    assert inside.count("K") == round(40 / 114 * 74)
    assert inside.count(".") > 0


def test_the_name_of_a_budget_is_its_verdict() -> None:
    assert names(document("too-large")) == ["no"]


def test_the_example_of_the_page_fits() -> None:
    page = (Path(__file__).parents[3] / "docs/budget.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]

    assert budget_of_text(example, "example").verdict == "fits"


def test_every_key_of_a_geometry_file_is_on_its_page() -> None:
    page = (Path(__file__).parents[3] / "docs/budget.md").read_text(encoding="utf-8")

    assert [key for key in Geometry.model_fields if f"`{key}`" not in page] == []
