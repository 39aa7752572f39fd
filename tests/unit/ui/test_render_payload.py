"""How payloads look in 80 columns, without colour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from meshctl.payloads.compare import Difference
from meshctl.payloads.outgoing import Published
from meshctl.payloads.wanted import Fetched
from meshctl.ui.documents import Document
from meshctl.ui.names import names
from meshctl.ui.payloads import (
    Payload,
    ProblemEntry,
    SplitEntry,
    TensorsEntry,
    TypeEntry,
    compare_document,
    fetch_document,
    publish_document,
)
from meshctl.ui.render import render

SOUND = Payload(
    source="hub:org/qwen3-8b-gguf@0123456789abcdef0123456789abcdef01234567/qwen3-8b.Q8_0.gguf",
    format="gguf", architecture="qwen3", parameters=8190735360, bytes=8709518624,
    bytes_per_parameter=1.0633, quantisation="Q8_0", context_length=40960,
    tensors=TensorsEntry(count=399, by_type={"Q8_0": TypeEntry(count=254, bytes=8701460480),
                                             "F32": TypeEntry(count=145, bytes=1232896)}),
    split=None, chat_template_sha256="1" * 64, tokenizer_sha256="2" * 64, draft_head=False,
    verdict="pass", problems=(),
)  # fmt: skip
BROKEN = SOUND.model_copy(
    update={
        "parameters": None, "bytes": None, "bytes_per_parameter": None, "verdict": "fail",
        "split": SplitEntry(index=1, count=3), "draft_head": True, "context_length": None,
        "tensors": TensorsEntry(count=2, by_type={"Q4_K": TypeEntry(count=1, bytes=1024),
                                                  "type 99": TypeEntry(count=1, bytes=None)}),
        "problems": (
            ProblemEntry(id="missing-part", message="qwen3-8b-00002-of-00003.gguf is missing"),
            ProblemEntry(id="expect", message="expected q8_0, found Q4_K 82 %, Q6_K 18 %: 0.583 "
                         "bytes an element"),
        ),
    }
)  # fmt: skip
OPAQUE = Payload(
    source="r2://models/qwen3-8b.q4km.knot", format="opaque", architecture=None,
    parameters=8190000000, bytes=4789000000, bytes_per_parameter=0.5847, quantisation=None,
    context_length=None, tensors=None, split=None, chat_template_sha256=None,
    tokenizer_sha256=None, draft_head=None, verdict="pass", problems=(),
)  # fmt: skip
DIFFERENT = compare_document(
    "a.gguf", "b.gguf", "same-model",
    (
        Difference("tensors.types", "254 Q8_0", "200 Q4_K, 54 Q6_K", "matters",
                   "254 tensors are quantised otherwise: other memory, speed and answers"),
        Difference("tokenizer.ggml.eos_token_id", "151645", None, "matters",
                   "how text becomes tokens, or where an answer ends"),
        Difference("general.file_type", "7", "15", "none",
                   "a label: engines go by the type of each tensor"),
    ),
)  # fmt: skip
PUBLISHED = publish_document(
    (
        Published(Path("models/qwen3-8b/qwen3-8b.q4km.knot"), "r2://models/qwen3-8b.q4km.knot",
                  4789000000, "3" * 64, '"0123456789abcdef0123456789abcdef-571"', 4089000000,
                  700000000),
        Published(Path("m.gguf"), "s3://models/m.gguf", 512, "4" * 64, '"0123"', there=True),
    )
)  # fmt: skip
FETCHED = fetch_document(
    (
        Fetched("hub:org/qwen3-8b-gguf@0123456789abcdef0123456789abcdef01234567/qwen3-8b.gguf",
                Path("models/qwen3-8b/qwen3-8b.gguf"), 8709519872, "3" * 64, 5209519872,
                3500000000, "the declared sha256"),
        Fetched("https://example.org/m.gguf", Path("m.gguf"), 512, "4" * 64, 512, 0, None),
        Fetched("gs://models/x.gguf", Path("x.gguf"), 2**20, "5" * 64, 0, 0,
                "the declared sha256", there=True),
    )
)  # fmt: skip
DOCUMENTS: dict[str, Document] = {
    "payload-fetch": FETCHED,
    "payload-publish": PUBLISHED,
    "payload-sound": SOUND,
    "payload-broken": BROKEN,
    "payload-opaque": OPAQUE,
    "payload-compare": DIFFERENT,
    "payload-compare-alike": compare_document("a.gguf", "b.gguf", "drop-in", ()),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_look_is_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"ui/{name}", "\n".join(render(DOCUMENTS[name])) + "\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_only_the_source_goes_beyond_80_columns(name: str) -> None:
    wide = [line for line in render(DOCUMENTS[name]) if len(line) > 80]

    assert [line for line in wide if "hub:" not in line] == []


def test_the_name_of_a_payload_is_its_source_and_of_a_comparison_its_verdict() -> None:
    assert names(OPAQUE) == ["r2://models/qwen3-8b.q4km.knot"]
    assert names(DIFFERENT) == ["same-model"]
    assert names(PUBLISHED) == ["r2://models/qwen3-8b.q4km.knot", "s3://models/m.gguf"]
    assert names(FETCHED) == ["models/qwen3-8b/qwen3-8b.gguf", "m.gguf", "x.gguf"]
