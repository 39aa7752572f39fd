"""A geometry file is read strictly: every mistake at once, with its place and the nearest name."""

from __future__ import annotations

import json
import timeit
from typing import Any

import pytest

from meshctl.budget.plan import plan_budget
from meshctl.budget.read import budget_of_text
from meshctl.budget.settings import Geometry
from meshctl.errors import Problem, SpecError

MODEL = "config: {num_hidden_layers: 4, num_attention_heads: 4, hidden_size: 256}\n"


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as wrong:
        budget_of_text(text, "g.yaml")
    return wrong.value.problems


def test_every_mistake_is_told_at_once_with_its_place() -> None:
    text = (
        f"engine: vlm\n{MODEL}kv_dtyp: f16\ntp: 0\ncontext: 4k\nkv_dtype: q9\nprefix_caching: 1\n"
    )

    found = [(p.place, p.path, p.message) for p in problems(text)]

    assert found == [
        ("g.yaml:1:1", "engine", '"vlm" is not one of: vllm, llama.cpp'),
        ("g.yaml:3:1", "kv_dtyp", "unknown key"),
        ("g.yaml:4:1", "tp", "0 is out of range: it must be between 1 and 1024"),
        ("g.yaml:5:1", "context", '"4k" is not a whole number; write digits, no leading zero'),
        ("g.yaml:6:1", "kv_dtype", '"q9" is not one of: f32, f16, bf16, fp8, nvfp4, q8_0, q5_1, '
         "q5_0, q4_1, q4_0"),
        ("g.yaml:7:1", "prefix_caching", '"1" is neither true nor false'),
    ]  # fmt: skip


def test_an_unknown_key_names_the_nearest_one() -> None:
    (found,) = problems(f"engine: vllm\n{MODEL}context: 10\nbatchd_tokens: 5\n")

    assert found.hint == 'did you mean "batched_tokens"?'


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "g.yaml:1:1", "the file is empty"),
        ("[1]", "g.yaml:1:1", "a geometry file is a mapping of keys"),
        ("engine: vllm\ncontext: 5\n", "g.yaml:1:1", "one of `config:` and `gguf:` is wanted"),
        (f"engine: vllm\n{MODEL}gguf: {{a: 1}}\n", "g.yaml:1:1", "one of"),
        (f"engine: vllm\n{MODEL}", "g.yaml:1:1", "context is missing"),
        (f"engine: vllm\nengine_version: new\n{MODEL}", "g.yaml:2:1", '"new" is not a version'),
        ("engine: vllm\ncontext: 5\nconfig:\n  hidden_size: 8\n", "g.yaml:3:1",
         "num_hidden_layers is missing"),
        (f"engine: vllm\ncontext: 5\n{MODEL.replace('256', 'x')}", "g.yaml:3:56", "a whole number"),
        (f"engine: vllm\ncontext: 5\n{MODEL.replace('4,', '9000,', 1)}", "g.yaml:3:10",
         "9,000 is out of range: it must be between 1 and 4,096"),
        ("engine: llama.cpp\ncontext: 5\ngguf:\n  llama.block_count: 2\n"
         "  llama.attention.head_count: [1, 2, 3]\n", "g.yaml:5:3", "3 entries, and there are 2"),
        ("engine: llama.cpp\ncontext: 5\ngguf:\n  llama.block_count: 2\n"
         "  llama.attention.head_count: 9\n  llama.embedding_length: 8\n", "g.yaml:5:3",
         "9 cannot share 8"),
        (f"engine: vllm\ncontext: 5\n{MODEL.replace('256', '3')}", "g.yaml:3:32",
         "4 cannot share 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_at_its_place(text: str, place: str, message: str) -> None:
    first = problems(text)[0]

    assert first.place == place
    assert message in first.message


def test_json_and_yaml_say_the_same() -> None:
    text = f"engine: vllm\ncontext: 100\navailable_kv_bytes: 1000000000\n{MODEL}"
    model = {"num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 256}
    data = {"engine": "vllm", "context": 100, "available_kv_bytes": 10**9, "config": model}

    assert budget_of_text(text, "g") == budget_of_text(json.dumps(data, indent="\t"), "g")


def seconds(layers: int) -> float:
    """The best of some plans of a sparse model with so many layers, each listed."""
    config = {
        "model_type": "glm_moe_dsa", "num_hidden_layers": layers, "num_attention_heads": 8,
        "kv_lora_rank": 512, "index_head_dim": 128, 
        "indexer_types": ["full", "shared"] * (layers // 2),
    }  # fmt: skip
    geometry = Geometry(engine="vllm", context=4096, config=plain_text(config))
    return min(timeit.repeat(lambda: plan_budget(geometry), number=1, repeat=5))


def plain_text(config: dict[str, Any]) -> dict[str, Any]:
    """As the reader hands it over: every number the text that was written."""
    return {key: value if isinstance(value, list) else str(value) for key, value in config.items()}


def test_the_work_grows_with_the_layers_and_not_with_their_square() -> None:
    assert seconds(2048) < 8 * 32 * seconds(64)
