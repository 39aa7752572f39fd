"""safetensors headers: as the safetensors package reads and refuses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors as package
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.outside.ranges import DiskFile
from meshctl.payloads.header import Damaged, Header
from meshctl.payloads.safetensors import parse_json, read_index, read_safetensors
from meshctl.payloads.window import Window
from tests.fakes.memory_ranges import MemoryFile
from tests.fakes.model_files import safetensors, safetensors_of


def read(data: bytes) -> Header:
    return read_safetensors(Window(MemoryFile(data), first=1000))


def test_a_file_of_the_package_is_read_as_by_the_package(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "model.safetensors"
    kinds = ("float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")
    made = {f"t.{kind}": numpy.ones((3, 5), dtype=kind) for kind in kinds}
    save_file(made, path, metadata={"format": "pt"})

    header = read_safetensors(Window(DiskFile(path)))

    with package.safe_open(path, framework="numpy") as theirs:
        assert {tensor.name for tensor in header.tensors} == set(theirs.keys())
        for tensor in header.tensors:
            piece = theirs.get_slice(tensor.name)
            assert (tensor.type, list(tensor.dims)) == (piece.get_dtype(), piece.get_shape())
            assert tensor.bytes == made[tensor.name].nbytes
        assert header.metadata == {f"__metadata__.{k}": v for k, v in theirs.metadata().items()}
    assert header.data_end == path.stat().st_size


def one(**changes: Any) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    return safetensors_of(json.dumps({"a": entry}).encode(), bytes(8))


WRONG: dict[str, bytes] = {
    "no JSON": safetensors_of(b"{nothing"),
    "a list": safetensors_of(b"[]"),
    "a space before it": safetensors_of(b" {}"),
    "a hole": one(data_offsets=[4, 12]),
    "an overlap": safetensors_of(json.dumps({
        name: {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]} for name in "ab"}).encode()),
    "a wrong size": one(shape=[3]),
    "a negative shape": one(shape=[-2]),
    "a true shape": one(shape=[True, 2]),
    "offsets backwards": one(data_offsets=[8, 0]),
    "no dtype": safetensors_of(json.dumps({"a": {"shape": [2]}}).encode()),
    "the same name twice": safetensors_of(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                                          b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "a name that a terminal obeys": safetensors({"\x1b[2J": ("U8", (1,), 1)}),
    "endless brackets": safetensors_of(b'{"a":' + b"[" * 100_000),
    "a huge number": safetensors_of(b'{"a":' + b"9" * 5000 + b"}"),
    "a length past the file": b"\xff\xff\x10\0\0\0\0\0{}",
    "a length past all": b"\xff" * 8 + b"{}",
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_refused_is_a_header_with(wrong: str) -> None:
    with pytest.raises(Damaged) as refused:
        read(WRONG[wrong])

    assert refused.value.problem.id in ("damaged", "truncated")
    assert refused.value.message.isprintable()


@pytest.mark.parametrize("wrong", ["no JSON", "a hole", "an overlap", "a wrong size", "a list"])
def test_the_package_refuses_the_same(wrong: str) -> None:
    with pytest.raises(package.SafetensorError):
        package.deserialize(WRONG[wrong])


def test_a_dtype_that_is_newer_than_we_are_keeps_its_size() -> None:
    header = read(one(dtype="F8_FUTURE"))

    assert (header.tensors[0].type, header.tensors[0].bytes) == ("F8_FUTURE", 8)


def test_json_that_unfolds_to_more_than_memory_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(Damaged, match="values"):
        parse_json(b"[" + b"{},{}," * 1_000_000 + b"{}]", "it")


@pytest.mark.parametrize("file", ["../../etc/passwd", "", "a/b", "a\x1b"])
def test_an_index_names_files_and_no_paths(file: str) -> None:
    with pytest.raises(Damaged):
        read_index(Window(MemoryFile(json.dumps({"weight_map": {"a": file}}).encode())))


WHOLE = safetensors({"a": ("BF16", (4, 4), 32), "b": ("F4", (3, 2), 3)}, {"format": "pt"})


@settings(max_examples=300, deadline=1000)
@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE) - 1), st.binary(max_size=6))
def test_a_changed_file_gives_an_answer_or_a_refusal(length: int, at: int, new: bytes) -> None:
    changed = (WHOLE[:at] + new + WHOLE[at + len(new) :])[:length]

    try:
        header = read(changed)
    except Damaged as refused:
        assert refused.message.isprintable()
    else:
        assert header.tensor_bytes is not None
