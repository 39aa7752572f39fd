"""Writes model files byte by byte, right ones and wrong ones, without the libraries that we check.

gguf({"general.architecture": "llama"}, {"a.weight": ("Q8_0", (32, 4))})
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

from meshctl.payloads.ggml import KINDS

_NUMBERS = {kind.name: number for number, kind in KINDS.items()}
LLAMA: dict[str, Any] = {
    "general.architecture": "llama",
    "general.name": "tiny",
    "llama.block_count": 1,
    "llama.context_length": 4096,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.chat_template": "{{ messages }}",
}
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]


def weights(kind: str = "Q8_0") -> dict[str, tuple[str, tuple[int, ...]]]:
    """Three matrices and a norm."""
    return {
        "token_embd.weight": (kind, (256, 64)),
        "blk.0.attn_q.weight": (kind, (256, 256)),
        "blk.0.ffn_up.weight": (kind, (256, 64)),
        "output_norm.weight": ("F32", (256,)),
    }


def gguf(
    metadata: Mapping[str, Any] = LLAMA,
    tensors: Shapes | None = None,
    *,
    version: int = 3,
    order: str = "<",
    alignment: int = 32,
) -> bytes:
    """A whole file; `order` is that of the struct module."""
    tensors = weights() if tensors is None else tensors
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += _text(key, order) + _value(value, order)
    data = b""
    for name, (kind, dims) in tensors.items():
        head += _text(name, order) + struct.pack(f"{order}I{len(dims)}Q", len(dims), *dims)
        head += struct.pack(f"{order}IQ", _NUMBERS.get(kind, 99), len(data))
        size = math.prod(dims) // KINDS[_NUMBERS[kind]].block * KINDS[_NUMBERS[kind]].bytes
        data += b"\x01" * size + bytes(-size % alignment)
    return head + bytes(-len(head) % alignment) + data


def parts(count: int, kind: str = "Q8_0", **metadata: Any) -> list[bytes]:
    """A model in so many files, metadata in the first only; each holds one matrix."""
    common = {"split.count": U16(count), "split.tensors.count": count}
    return [
        gguf(
            {**(LLAMA if not index else {"general.architecture": "llama"}), **metadata, **common,
             "split.no": U16(index)},
            {f"blk.{index}.attn_q.weight": (kind, (256, 64))},
        )
        for index in range(count)
    ]  # fmt: skip


def part_name(index: int, count: int, prefix: str = "tiny") -> str:
    """Counts from 1."""
    return f"{prefix}-{index:05}-of-{count:05}.gguf"


def safetensors(
    tensors: Mapping[str, tuple[str, tuple[int, ...], int]], metadata: Any = None
) -> bytes:
    """A whole file; each tensor is dtype, shape and bytes."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return safetensors_of(json.dumps(header).encode(), bytes(at))


def safetensors_of(header: bytes, data: bytes = b"") -> bytes:
    """Any header with its length before it."""
    return struct.pack("<Q", len(header)) + header + data


class U16(int):
    """Written as u16, as split.no and split.count are."""


def _text(text: str, order: str) -> bytes:
    raw = text.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def _value(value: Any, order: str) -> bytes:
    if isinstance(value, U16):
        return struct.pack(f"{order}IH", 2, value)
    if isinstance(value, bool):
        return struct.pack(f"{order}IB", 7, value)
    if isinstance(value, int):
        return struct.pack(f"{order}II", 4, value)
    if isinstance(value, float):
        return struct.pack(f"{order}If", 6, value)
    if isinstance(value, str):
        return struct.pack(f"{order}I", 8) + _text(value, order)
    items = b"".join(_value(item, order)[4:] for item in value)
    kind = struct.unpack(f"{order}I", _value(value[0], order)[:4])[0] if value else 4
    return struct.pack(f"{order}IIQ", 9, kind, len(value)) + items
