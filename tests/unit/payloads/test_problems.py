"""Every problem there is stands in docs/payloads.md, and any bytes at all make a document."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.payloads.inspect import Wish, inspect
from meshctl.payloads.sets import UNREAD
from meshctl.ui.payloads import Payload, payload_document
from meshctl.ui.render import render
from tests.fakes.memory_ranges import MemoryFolder
from tests.fakes.model_files import gguf, part_name, parts, safetensors

TOP = Path(__file__).parents[3]
SEEDS = (
    gguf(),
    b"".join(parts(2)),
    safetensors({"a": ("F16", (2, 2), 8)}),
    b"<html>",
    b'{"weight_map": {"a": "x-00001-of-00002.safetensors"}, "model_type": 1}',
)
NAMES = ("x.gguf", part_name(1, 2), "x.safetensors", "x-00001-of-00002.safetensors",
         "model.safetensors.index.json", "x.knot", "config.json")  # fmt: skip


def test_every_problem_is_in_the_document_and_no_other() -> None:
    files = [*(TOP / "meshctl/payloads").glob("*.py"), TOP / "meshctl/cli/payload.py"]
    text = "".join(file.read_text("utf-8") for file in files)
    page = (TOP / "docs/payloads.md").read_text("utf-8")

    made = set(re.findall(r'(?:Problem|Damaged)\(\s*"([a-z-]+)"', text)) | {UNREAD}
    made |= {"split-count", "renamed-part"}
    table = page.partition("## What can be wrong")[2].partition("## Can B")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert {word for row in rows for word in re.findall(r"`([a-z-]+)`", row)} == made


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_any_bytes_under_any_names_make_a_document_that_can_be_shown(data: st.DataObject) -> None:
    files = {}
    for name in data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        whole = data.draw(st.sampled_from(SEEDS))
        at = data.draw(st.integers(0, min(len(whole), 1500)))
        files[name] = whole[:at] + data.draw(st.binary(max_size=20)) + whole[at:]

    found = inspect(MemoryFolder(files), next(iter(files)), Wish(expect="q8_0"))

    document = payload_document(found)
    assert Payload.model_validate(document.data()) == document
    assert render(document)[0].startswith("memory/")
