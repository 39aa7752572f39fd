"""Reads the header of a GGUF file: versions 2 and 3, both byte orders, every type of value.

Layout and limits: facts/budget 1.1 and 1.5. Every count is checked against the bytes that are left
before anything is made for it, so that a claim costs nothing; hostile bytes end as `Damaged`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from struct import Struct

from meshctl.payloads.cursor import LONGEST_TEXT, NUMBERS, Cursor
from meshctl.payloads.ggml import KINDS
from meshctl.payloads.header import Damaged, Header, Scalar, Tensor, Value
from meshctl.payloads.window import Window

MOST_KEYS, MOST_TENSORS = 100_000, 262_144
"""Fewer tensors than the million of facts/budget 1.5: no file has more than some thousands, and
each costs ten times its bytes in memory."""
LONGEST_KEY, LONGEST_NAME = 2**16, 63
MOST_ELEMENTS, MOST_DIMS, LARGEST_DIM = 2**22, 4, 2**32
KEPT_TEXT, KEPT_NUMBERS, KEPT_TEXTS = 4096, 4096, 256
"""What is longer is known by its digest alone."""
SMALLEST_KEY, SMALLEST_TENSOR = 8 + 1 + 4 + 1, 8 + 1 + 4 + 4 + 8
TEMPLATE = "tokenizer.chat_template"
_U32, _TEXT, _ARRAY = 4, 8, 9


def read_gguf(window: Window) -> Header:
    """The header; only as much of the file is read as it is long. Raises Damaged."""
    cursor = Cursor(window)
    tensors, keys = cursor.number("Q"), cursor.number("Q")
    cursor.afford(keys, SMALLEST_KEY, MOST_KEYS, "keys")
    metadata, digests, types = _metadata(cursor, keys)
    cursor.afford(tensors, SMALLEST_TENSOR, MOST_TENSORS, "tensors")
    alignment = _alignment(metadata, types)
    found = list(_tensors(cursor, tensors))
    start = cursor.at + -cursor.at % alignment
    architecture = metadata.get("general.architecture")
    return Header(
        format="gguf",
        architecture=architecture if isinstance(architecture, str) else None,
        metadata=metadata,
        tensors=tuple(tensor for tensor, _ in found),
        data_start=start,
        data_end=_end(found, start, alignment),
        digests=digests,
        byte_order=cursor.order,
        alignment=alignment,
    )


def _metadata(
    cursor: Cursor, count: int
) -> tuple[dict[str, Value], dict[str, str], dict[str, int]]:
    """Short values by key, digests of long ones, and the type of each as it is in the file."""
    metadata: dict[str, Value] = {}
    digests: dict[str, str] = {}
    types: dict[str, int] = {}
    for _ in range(count):
        key = cursor.name(LONGEST_KEY, "a key")
        if key in types:
            raise Damaged("damaged", f"the key {key[:60]} is there twice")
        types[key] = cursor.number("I")
        start = cursor.at
        value = _value(cursor, types[key], key)
        if value is not None:
            metadata[key] = value
        if value is None or isinstance(value, tuple) or key.startswith(TEMPLATE):
            start += 8 if types[key] == _TEXT else 0  # of a text its bytes, without their number
            digests[key] = hashlib.sha256(cursor.window.data[start : cursor.at]).hexdigest()
    return metadata, digests, types


def _value(cursor: Cursor, type_: int, key: str) -> Value | None:
    """A value; None for what is too long to keep."""
    if type_ in NUMBERS:
        return cursor.number(NUMBERS[type_])  # type: ignore[no-any-return]
    if type_ == _TEXT:
        text = cursor.raw(LONGEST_TEXT, f"the text of {key[:60]}")
        return text.decode("utf-8", "replace") if len(text) <= KEPT_TEXT else None
    if type_ == _ARRAY:
        return _array(cursor, key)
    raise Damaged("damaged", f"{key[:60]} has a value of type {type_}, which there is not")


def _array(cursor: Cursor, key: str) -> tuple[Scalar, ...] | None:
    type_, count = cursor.number("I"), cursor.number("Q")
    what = f"elements in {key[:60]}"
    if type_ == _TEXT:
        cursor.afford(count, 8, MOST_ELEMENTS, what)
        return _texts(cursor, count)
    if type_ not in NUMBERS:
        raise Damaged("damaged", f"{key[:60]} is an array of type {type_}, which engines refuse")
    each = cursor.forms[NUMBERS[type_]].size
    cursor.afford(count, each, MOST_ELEMENTS, what)
    start = cursor.at
    cursor.skip(count * each)
    if not cursor.keeps(count, KEPT_NUMBERS):
        return None
    sign = cursor.forms[NUMBERS[type_]].format[0]
    return Struct(f"{sign}{count}{NUMBERS[type_]}").unpack_from(cursor.window.data, start)


def _texts(cursor: Cursor, count: int) -> tuple[str, ...] | None:
    if not cursor.keeps(count, KEPT_TEXTS):
        cursor.skip_texts(count)
        return None
    texts = [cursor.raw(LONGEST_TEXT, "a text in an array") for _ in range(count)]
    if sum(map(len, texts)) > KEPT_TEXTS * KEPT_TEXT:
        return None
    return tuple(text.decode("utf-8", "replace") for text in texts)


def _alignment(metadata: dict[str, Value], types: dict[str, int]) -> int:
    alignment = metadata.get("general.alignment", 32)
    whole = isinstance(alignment, int) and types.get("general.alignment", _U32) == _U32
    if not whole or not 8 <= alignment <= 2**16 or alignment & (alignment - 1):  # type: ignore[operator]
        raise Damaged("damaged", f"an alignment of {alignment!r}; a power of two from 8 to 65536")
    return alignment  # type: ignore[return-value]


def _tensors(cursor: Cursor, count: int) -> Iterator[tuple[Tensor, int]]:
    """Each tensor with its offset."""
    names: set[str] = set()
    for _ in range(count):
        name = cursor.name(LONGEST_NAME, "the name of a tensor")
        if name in names:
            raise Damaged("damaged", f"the tensor {name} is there twice")
        names.add(name)
        dims = _dims(cursor, name)
        type_, offset = cursor.number("I"), cursor.number("Q")
        yield _tensor(name, type_, dims), offset


def _dims(cursor: Cursor, name: str) -> tuple[int, ...]:
    count = cursor.number("I")
    if count > MOST_DIMS:
        raise Damaged("damaged", f"the tensor {name} claims {count} dimensions; at most 4")
    dims = tuple(cursor.number("Q") for _ in range(count))
    if max(dims, default=0) > LARGEST_DIM or math.prod(dims) >= 2**63:
        raise Damaged("damaged", f"the tensor {name} claims to be larger than anything is")
    return dims


def _tensor(name: str, type_: int, dims: tuple[int, ...]) -> Tensor:
    kind = KINDS.get(type_)
    if kind is None:
        return Tensor(name, f"type {type_}", dims, None)
    row = dims[0] if dims else 1
    if row % kind.block:
        raise Damaged(
            "damaged", f"the rows of {name} have {row} elements, and {kind.name} takes {kind.block}"
        )
    return Tensor(name, kind.name, dims, math.prod(dims) // kind.block * kind.bytes)


def _end(found: list[tuple[Tensor, int]], start: int, alignment: int) -> int | None:
    """Where the last tensor ends. Raises Damaged where they leave holes or overlap."""
    at = end = start
    for tensor, offset in found:
        if start + offset != at:
            raise Damaged("damaged", f"{tensor.name} begins at byte {start + offset:,}, not {at:,}")
        if tensor.bytes is None:
            return None
        end = at + tensor.bytes
        at = end + -end % alignment
    return end
