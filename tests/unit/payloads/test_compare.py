"""Two models by their headers: what matters to an engine, and what only looks alarming."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.payloads.compare import Side, compare
from meshctl.payloads.gguf import read_gguf
from meshctl.payloads.window import Window
from tests.fakes.memory_ranges import MemoryFile
from tests.fakes.model_files import LLAMA, gguf, weights

QWEN = {**LLAMA, "general.architecture": "qwen35", "qwen35.full_attention_interval": 4}


def side(metadata: dict[str, Any] = LLAMA, tensors: Any = None, **form: Any) -> Side:
    data = gguf(metadata, tensors, **form)
    return Side(read_gguf(Window(MemoryFile(data))), len(data), None)


def outcome(a: Side, b: Side) -> tuple[str, dict[str, bool]]:
    """The verdict, and whether each difference matters."""
    verdict, found = compare(a, b)
    assert all(one.why for one in found)
    return verdict, {one.path: one.weight != "none" for one in found}


def test_a_model_can_take_its_own_place() -> None:
    assert outcome(side(), side()) == ("drop-in", {})


def test_a_wrong_label_and_a_key_that_nobody_reads_do_not_keep_a_fine_tune_out() -> None:
    ours = side({**QWEN, "general.file_type": 15})
    theirs = side({**QWEN, "general.file_type": 7, "general.name": "a fine tune of it",
                   "qwen35.attention.recurrent_layers": 3})  # fmt: skip

    verdict, found = outcome(ours, theirs)

    assert verdict == "drop-in"
    assert found == {"general.file_type": False, "general.name": False, "bytes": False,
                     "qwen35.attention.recurrent_layers": False}  # fmt: skip


def test_the_key_counts_where_nothing_else_tells_the_kinds_of_layers() -> None:
    one = {**LLAMA, "llama.attention.recurrent_layers": 3}

    assert outcome(side(), side(one))[0] == "same-model"


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("tokenizer.chat_template", "other", "same-model"),
        ("llama.context_length", 8192, "same-model"),
        ("tokenizer.ggml.eos_token_id", 2, "same-model"),
        ("somebody.else", 1, "same-model"),
        ("tokenizer.ggml.tokens", ["a", "b", "d"], "different"),
        ("llama.block_count", 2, "different"),
        ("general.architecture", "qwen3", "different"),
        ("general.license", "mit", "drop-in"),
        ("quantize.imatrix.file", "x", "drop-in"),
    ],
)
def test_a_difference_in_the_metadata_weighs_what_it_does(
    key: str, value: Any, verdict: str
) -> None:
    found, paths = outcome(side(), side({**LLAMA, key: value}))

    assert found == verdict
    assert {"general.architecture": "architecture"}.get(key, key) in paths


def test_another_quantisation_is_the_same_model() -> None:
    verdict, found = outcome(side(), side(LLAMA, weights("Q4_K")))

    assert (verdict, found) == ("same-model", {"tensors.types": True, "bytes": False})


def test_the_order_of_tensors_has_no_effect_and_names_and_shapes_make_another_model() -> None:
    same = dict(reversed(weights().items()))
    more = {**weights(), "blk.1.attn_q.weight": ("F32", (4, 4))}
    wider = {**weights(), "output_norm.weight": ("F32", (512,))}

    assert outcome(side(), side(LLAMA, same)) == ("drop-in", {"tensors.order": False})
    assert outcome(side(), side(LLAMA, more))[0] == "different"
    assert outcome(side(), side(LLAMA, wider))[1]["tensors.dims"] is True


def test_a_lost_draft_head_is_the_same_model_and_no_drop_in() -> None:
    drafting = {**weights(), "blk.1.nextn.eh_proj.weight": ("F32", (4, 4))}

    verdict, found = outcome(side(LLAMA, drafting), side())

    assert (verdict, found["draft_head"]) == ("same-model", True)
    assert "tensors.names" not in found


def test_the_other_byte_order_is_no_drop_in() -> None:
    assert outcome(side(), side(order=">"))[0] != "drop-in"
