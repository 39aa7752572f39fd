"""Reads the header of a safetensors file, and the index of a model in several of them.

Layout and limits: facts/budget 1.6. The JSON is measured before it is parsed, so that what it
unfolds to stays bounded; hostile bytes end as `Damaged`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from meshctl.payloads.header import Damaged, Header, Tensor, Value
from meshctl.payloads.window import Window

LONGEST_HEADER = 25_000_000
"""SAFETENSORS_MAX_HEADER_LENGTH of huggingface_hub."""
MOST_TENSORS, MOST_FILES, LARGEST_DIM = 262_144, 4096, 2**48
MOST_VALUES = 4_000_000
"""Values of the JSON: each costs some dozens of bytes of memory."""
BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits of one element; safetensors 0.8."""
_KEYS = {"dtype", "shape", "data_offsets"}


def read_safetensors(window: Window) -> Header:
    """The header; the file is read to its end and no further. Raises Damaged."""
    window.need(8)
    length = int.from_bytes(window.data[:8], "little")
    if length > LONGEST_HEADER:
        raise Damaged(
            "damaged", f"a header of {length:,} bytes; no more than {LONGEST_HEADER:,} are read"
        )
    window.need(8 + length)
    text = bytes(window.data[8 : 8 + length])
    if not text.startswith(b"{"):
        raise Damaged("damaged", "its header is no JSON object")
    entries = parse_json(text, "its header")
    said = entries.pop("__metadata__", {})
    if len(entries) > MOST_TENSORS:
        raise Damaged("damaged", f"{len(entries):,} tensors; no more than {MOST_TENSORS:,}")
    placed = sorted((_tensor(name, entry) for name, entry in entries.items()), key=_by_place)
    return Header(
        format="safetensors",
        architecture=None,
        metadata=_metadata(said),
        tensors=tuple(tensor for tensor, _ in placed),
        data_start=8 + length,
        data_end=8 + length + _tiled(placed),
    )


def read_index(window: Window) -> dict[str, str]:
    """The file of each tensor, from a model.safetensors.index.json. Raises Damaged."""
    window.need(window.size)
    index = parse_json(bytes(window.data), "the index").get("weight_map")
    if not isinstance(index, dict) or not index:
        raise Damaged("damaged", "the index has no weight_map")
    files = set(map(str, index.values()))
    if len(index) > MOST_TENSORS * 4 or len(files) > MOST_FILES or not all(map(_is_name, files)):
        raise Damaged("damaged", "the index names files that are none, or too many")
    return {name: str(file) for name, file in index.items()}


def parse_json(text: bytes, what: str) -> dict[str, Any]:
    """A JSON object of bounded size, no key in it twice. Raises Damaged."""
    if sum(text.count(sign) for sign in (b",", b"[", b"{")) > MOST_VALUES:
        raise Damaged("damaged", f"{what} holds more than {MOST_VALUES:,} values")
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Damaged("damaged", f"{what} is no JSON") from error
    if not isinstance(found, dict):
        raise Damaged("damaged", f"{what} is no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _metadata(said: Any) -> Mapping[str, Value]:
    if not isinstance(said, dict):
        return {}
    return {f"__metadata__.{key}": text for key, text in said.items()
            if isinstance(text, str) and len(text) <= 4096}  # fmt: skip


def _tensor(name: str, entry: Any) -> tuple[Tensor, int]:
    """One tensor, and where it begins behind the header."""
    if not name or not name.isprintable() or len(name) > 1024:
        raise Damaged("damaged", "the name of a tensor is empty, endless or cannot be printed")
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        raise Damaged("damaged", f"{name} is no tensor: dtype, shape and data_offsets make one")
    type_, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(type_, str) or not 0 < len(type_) <= 32 or not type_.isprintable():
        raise Damaged("damaged", f"the dtype of {name} is no name")
    dims, (begin, end) = _numbers(shape, name, LARGEST_DIM), _pair(offsets, name)
    bits = BITS.get(type_)
    if bits is not None and math.prod(dims) * bits != (end - begin) * 8:
        raise Damaged("damaged", f"{name} takes {end - begin:,} bytes, and its shape says other")
    return Tensor(name, type_, dims, end - begin), begin


def _pair(offsets: Any, name: str) -> tuple[int, ...]:
    found = _numbers(offsets, name, 2**63)
    if len(found) != 2 or found[0] > found[1]:
        raise Damaged("damaged", f"the data_offsets of {name} are no begin and end")
    return found


def _numbers(found: Any, name: str, most: int) -> tuple[int, ...]:
    whole = isinstance(found, list) and len(found) <= 16 and all(type(n) is int for n in found)
    if not whole or not all(0 <= number <= most for number in found):
        raise Damaged("damaged", f"{name} has a number that is none, or is out of bounds")
    return tuple(found)


def _by_place(placed: tuple[Tensor, int]) -> tuple[int, int, str]:
    tensor, begin = placed
    return begin, tensor.bytes or 0, tensor.name


def _tiled(placed: list[tuple[Tensor, int]]) -> int:
    """Bytes of all tensors. Raises Damaged where they leave holes or overlap."""
    at = 0
    for tensor, begin in placed:
        if begin != at:
            raise Damaged("damaged", f"{tensor.name} begins at byte {begin:,}, not at {at:,}")
        at = begin + (tensor.bytes or 0)
    return at


def _is_name(file: str) -> bool:
    return bool(file) and file.isprintable() and "/" not in file and "\\" not in file
