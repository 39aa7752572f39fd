"""What a payload really is: sets are sets, labels are labels, and pretenders are named."""

from __future__ import annotations

import json

import pytest

from meshctl.payloads.inspect import Inspection, Wish, inspect
from tests.fakes.memory_ranges import MemoryFolder
from tests.fakes.model_files import LLAMA, U16, gguf, part_name, parts, safetensors, weights

HIDDEN = {"model_type": "qwen3", "text_config": {"max_position_embeddings": 40960}}


def look(data: bytes, name: str = "tiny.gguf", **wish: object) -> Inspection:
    return inspect(MemoryFolder({name: data}), name, Wish(**wish))  # type: ignore[arg-type]


def ids(found: Inspection) -> list[str]:
    return [problem.id for problem in found.problems]


def set_of(pieces: list[bytes]) -> dict[str, bytes]:
    return {part_name(i, len(pieces)): piece for i, piece in enumerate(pieces, start=1)}


def test_a_sound_file_is_told_by_its_header() -> None:
    found = look(gguf())

    assert (found.verdict, found.quantisation, found.context_length) == ("pass", "Q8_0", 4096)
    assert found.parameters == 256 * 64 + 256 * 256 + 256 * 64 + 256
    assert found.bytes == len(gguf())
    assert (found.draft_head, found.part) == (False, None)
    assert len(found.chat_template_sha256 or "") == len(found.tokenizer_sha256 or "") == 64


def test_the_template_and_the_tokenizer_are_told_apart() -> None:
    plain = look(gguf())
    template = look(gguf({**LLAMA, "tokenizer.chat_template": "other"}))
    tokens = look(gguf({**LLAMA, "tokenizer.ggml.tokens": ["a", "b", "d"]}))

    assert template.tokenizer_sha256 == plain.tokenizer_sha256 != tokens.tokenizer_sha256
    assert template.chat_template_sha256 != plain.chat_template_sha256


PRETENDERS = {
    "lfs-pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123456\n",
    "html": b"\n<!DOCTYPE html><html><body>Log in",
    "error-answer": b'{"error":"Repository not found"}',
    "empty": b"",
    "zeros": bytes(100_000),
    "not-gguf": b"PK\x03\x04 something else",
}


@pytest.mark.parametrize("problem", PRETENDERS)
def test_named_is_what_was_saved_in_place_of_weights(problem: str) -> None:
    found = look(PRETENDERS[problem])

    assert (ids(found), found.verdict, found.header) == ([problem], "fail", None)


@pytest.mark.parametrize("problem", ["lfs-pointer", "html", "empty"])
def test_a_file_without_a_known_header_may_be_a_pretender_too(problem: str) -> None:
    assert ids(look(PRETENDERS[problem], "x.knot", format="opaque")) == [problem]
    assert ids(look(PRETENDERS["zeros"], "x.knot", format="opaque")) == []


def test_a_file_cut_short_says_how_many_bytes_it_lacks() -> None:
    in_data, in_header = look(gguf()[:-5000]), look(gguf()[:200])

    assert (ids(in_data), ids(in_header)) == (["truncated"], ["truncated"])
    assert f"{len(gguf()) - 5000:,}" in in_data.problems[0].message


def test_bytes_behind_the_last_tensor_are_no_part_of_a_model() -> None:
    assert ids(look(gguf() + b"more")) == ["trailing-bytes"]


def test_the_padding_behind_the_last_tensor_may_be_absent() -> None:
    data = gguf(LLAMA, {"a": ("F32", (2, 3))})

    assert len(data) % 32 == 0
    assert look(data).verdict == look(data[:-8]).verdict == "pass"
    assert ids(look(data[:-9])) == ["truncated"]


def test_parts_laid_one_behind_the_other_are_named_as_that() -> None:
    found = look(b"".join(parts(3)), "whole.gguf")

    assert "concatenated" in ids(found)
    assert "llama-gguf-split --merge" in found.problems[0].message


def test_a_set_is_read_as_a_set() -> None:
    found = inspect(MemoryFolder(set_of(parts(3))), part_name(2, 3), Wish(expect="q8_0"))

    assert found.verdict == "pass", found.problems
    assert found.part is not None and (found.part.index, found.part.count) == (2, 3)
    assert found.parameters == 3 * 256 * 64
    assert found.bytes == sum(map(len, parts(3)))
    assert found.header is not None and found.header.architecture == "llama"
    assert found.context_length == 4096, "known from the first part, whichever was named"


def broken(change: str) -> tuple[dict[str, bytes], str]:
    """A set of three with one thing wrong, and which problem that is."""
    pieces = parts(3)
    files = set_of(pieces)
    if change == "missing":
        del files[part_name(2, 3)]
        return files, "missing-part"
    if change == "renamed":
        files[part_name(2, 3)], files[part_name(3, 3)] = pieces[2], pieces[1]
        return files, "renamed-part"
    if change == "of another set":
        files[part_name(3, 3)] = parts(4)[2]
        return files, "wrong-total"
    if change == "cut short":
        files[part_name(3, 3)] = pieces[2][:-999]
        return files, "truncated"
    if change == "a pointer":
        files[part_name(2, 3)] = PRETENDERS["lfs-pointer"]
        return files, "lfs-pointer"
    if change == "a whole model":
        files[part_name(3, 3)] = gguf({**LLAMA}, weights())
        return files, "wrong-total"
    said = {"general.architecture": "llama", "split.count": U16(3), "split.no": U16(2),
            "split.tensors.count": 3}  # fmt: skip
    files[part_name(3, 3)] = gguf(said, {"a": ("F32", (4,)), "b": ("F32", (4,))})
    return files, "wrong-total"


@pytest.mark.parametrize(
    "change",
    ["missing", "renamed", "of another set", "cut short", "a pointer", "a whole model", "too many"],
)
def test_a_set_is_refused_when_one_part_is(change: str) -> None:
    files, problem = broken(change)

    found = inspect(MemoryFolder(files), part_name(1, 3), Wish())

    assert problem in ids(found)
    assert found.verdict == "fail"


def test_a_tensor_in_two_parts_is_named() -> None:
    first, _, third = parts(3)
    files = set_of([first, first.replace(b"blk.0", b"blk.0"), third])

    found = inspect(MemoryFolder(files), part_name(1, 3), Wish())

    assert "twice" in ids(found)


def test_a_part_under_another_name_is_told_its_own() -> None:
    found = look(parts(3)[1], "second.gguf")

    assert ids(found) == ["renamed-part"]
    assert "NAME-00002-of-00003.gguf" in found.problems[0].message
    assert found.part is not None and (found.part.index, found.part.count) == (2, 3)


def test_a_merged_file_that_still_says_parts_is_refused_as_engines_do() -> None:
    said = {**LLAMA, "split.count": U16(3), "split.tensors.count": len(weights())}

    assert ids(look(gguf(said), "whole.gguf")) == ["split-count"]
    assert ids(look(gguf({**said, "split.count": U16(0)}), "whole.gguf")) == []


def test_a_part_that_does_not_answer_leaves_the_set_unproved() -> None:
    folder = MemoryFolder(set_of(parts(3)), unreachable=(part_name(3, 3),))

    found = inspect(folder, part_name(1, 3), Wish())

    assert (ids(found), found.verdict) == (["part-unread"], "unclear")
    assert found.bytes is None and found.parameters is None


def test_genuinely_q8_is_proved_by_the_tensors_and_not_by_the_label() -> None:
    lying = {**LLAMA, "general.file_type": 7}
    mixed = {**weights("Q8_0"), "blk.0.ffn_up.weight": ("Q4_K", (256, 64))}

    assert look(gguf(), expect="q8_0").verdict == "pass"
    assert look(gguf({**LLAMA, "general.file_type": 15}), expect="Q8_0").verdict == "pass"
    assert ids(look(gguf(lying, weights("Q4_K")), expect="q8_0")) == ["label", "expect"]
    assert ids(look(gguf(LLAMA, mixed), expect="q8_0")) == ["expect"]
    assert ids(look(gguf(LLAMA, weights("F16")), expect="q8_0")) == ["expect"]


def test_q8_with_too_much_left_wide_is_not_genuinely_q8() -> None:
    wide = {**weights("Q8_0"), "output.weight": ("F32", (256, 18))}

    found = look(gguf(LLAMA, wide), expect="q8_0")

    assert ids(found) == ["expect"], "95 % is Q8_0, and the mean is too wide"
    assert "Q8_0 96 %" in found.problems[0].message


def test_a_mixture_is_what_most_of_it_is() -> None:
    mixed = {**weights("Q4_K"), "output.weight": ("Q6_K", (256, 64))}
    narrow = {**weights("Q4_K"), "output.weight": ("Q2_K", (256, 512))}

    assert look(gguf(LLAMA, mixed), expect="q4_k_m").verdict == "pass"
    assert look(gguf(LLAMA, mixed)).quantisation == "Q4_K"
    assert ids(look(gguf(LLAMA, narrow), expect="q4_k_m")) == ["expect"]


def test_a_name_that_promises_more_than_the_tensors_hold_is_named() -> None:
    assert ids(look(gguf(LLAMA, weights("Q4_K")), "tiny-Q8_0.gguf")) == ["label"]
    assert ids(look(gguf(LLAMA, weights("Q8_0")), "tiny-Q4_K_M.gguf")) == []


def test_of_an_opaque_file_only_the_size_is_judged() -> None:
    data = b"\x07" * 1_062_500

    def knot(**wish: object) -> Inspection:
        return look(data, "x.q4km.knot", **wish)

    assert knot(expect="q8_0", parameters=1_000_000).verdict == "pass"
    assert ids(knot(expect="q8_0", parameters=1_900_000)) == ["expect"]
    assert knot(expect="q4_k", parameters=1_888_889).verdict == "pass"
    assert (ids(knot(expect="q8_0")), knot(expect="q8_0").verdict) == (
        ["expect-unknown"], "unclear",
    )  # fmt: skip
    assert (knot().quantisation, knot().draft_head, knot().tokenizer_sha256) == (None, None, None)


def test_safetensors_are_told_with_what_config_json_says() -> None:
    data = safetensors({"a.weight": ("BF16", (4, 8), 64), "mtp.x": ("BF16", (2, 2), 8)})
    folder = MemoryFolder({"model.safetensors": data, "config.json": json.dumps(HIDDEN).encode()})

    found = inspect(folder, "model.safetensors", Wish())

    assert found.header is not None
    assert (found.header.architecture, found.context_length) == ("qwen3", 40960)
    assert (found.quantisation, found.parameters, found.draft_head) == ("BF16", 36, True)
    assert found.verdict == "pass"


def test_packed_safetensors_have_a_method_and_no_count_of_parameters() -> None:
    data = safetensors({"a.qweight": ("I32", (4, 8), 128)})
    config = {"model_type": "x", "quantization_config": {"quant_method": "awq", "bits": 4}}
    folder = MemoryFolder({"m.safetensors": data, "config.json": json.dumps(config).encode()})

    told, untold = inspect(folder, "m.safetensors", Wish()), look(data, "m.safetensors")

    assert (told.quantisation, told.parameters) == ("awq 4 bit", None)
    assert (untold.quantisation, untold.parameters) == (None, None)


def sharded(**changes: bytes) -> MemoryFolder:
    names = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    tensors = [safetensors({f"t{n}": ("F16", (4, 8), 64)}) for n in (1, 2)]
    index = {"weight_map": {"t1": names[0], "t2": names[1]}}
    return MemoryFolder({
        **dict(zip(names, tensors, strict=True)),
        "model.safetensors.index.json": json.dumps(index).encode(), **changes,
    })  # fmt: skip


FIRST = "model-00001-of-00002.safetensors"
SECOND = "model-00002-of-00002.safetensors"


@pytest.mark.parametrize("name", [FIRST, "model.safetensors.index.json"])
def test_shards_are_read_as_the_index_says(name: str) -> None:
    found = inspect(sharded(), name, Wish())

    assert found.verdict == "pass", found.problems
    assert (found.parameters, found.bytes) == (64, sum(
        len(file.data) for n, file in sharded().files.items() if n.endswith(".safetensors")
    ))  # fmt: skip


def test_what_is_wrong_with_shards_is_named() -> None:
    other = safetensors({"t3": ("F16", (4, 8), 64)})
    without = MemoryFolder({FIRST: safetensors({"t1": ("F16", (4,), 8)})})

    assert ids(inspect(sharded(**{SECOND: other}), FIRST, Wish())) == ["missing-tensor"]
    assert ids(inspect(sharded(**{SECOND: other[:-1]}), FIRST, Wish())) == [
        "truncated", "missing-tensor",
    ]  # fmt: skip
    assert ids(inspect(without, FIRST, Wish())) == ["missing-part", "missing-index"]
