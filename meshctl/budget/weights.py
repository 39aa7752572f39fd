"""What the header of a payload says of its weights, and what of them lies on one device. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from meshctl.payloads.header import Header, Scalar, Tensor, Value
from meshctl.state.boot import BootRecord

_BLOCK = re.compile(r"blk\.(\d+)\.")
_INPUT, _OUTPUT = "token_embd.weight", "output.weight"
_WHOLE_ON_EACH = re.compile(
    r"(\.|_)(kv_a_proj_with_mqa|q_a_proj|mlp\.gate|router|block_sparse_moe\.gate|shared_expert_gate)"
    r"\.weight$"
)
"""What vLLM does not cut across devices: routers, and what goes down into a latent."""
_SOURCES = ("__metadata__.", "tokenizer.")


@dataclass(frozen=True)
class Weights:
    """One payload, as far as a budget goes. `keys` are config.json's or the GGUF's own, every
    number the text that would be written.

    Bytes of all tensors: `input_bytes` are the embeddings that llama.cpp leaves in host memory,
    `by_layer` those of each block, `whole_bytes` those that every device of vLLM holds.
    `boots` are measured ones of the same files, the newest first.
    """

    format: Literal["gguf", "safetensors"]
    keys: Mapping[str, Any]
    bytes: int
    input_bytes: int = 0
    by_layer: tuple[int, ...] = ()
    whole_bytes: int = 0
    boots: tuple[BootRecord, ...] = ()

    def on_llama(self, devices: int, *, host_is_device: bool) -> int:
        """Of the device with the most layers, as if it had the heaviest of them; whatever is no
        layer is counted there, too."""
        left_out = 0 if host_is_device else self.input_bytes
        most = -(-len(self.by_layer) // devices)
        heaviest = sum(sorted(self.by_layer, reverse=True)[:most])
        return self.bytes - left_out - sum(self.by_layer) + heaviest

    def on_vllm(self, devices: int) -> int:
        """Of one of `devices` that share each layer."""
        return -(-(self.bytes - self.whole_bytes) // devices) + self.whole_bytes


def weights_of(header: Header, file_bytes: int | None) -> Weights | None:
    """The weights behind a header; None where neither types nor files tell how large they are."""
    size = header.tensor_bytes if header.tensor_bytes is not None else file_bytes
    if size is None:
        return None
    if header.format == "safetensors":
        return Weights("safetensors", _nested(header.metadata), size,
                       whole_bytes=_whole(header.tensors))  # fmt: skip
    names = {tensor.name: tensor.bytes or 0 for tensor in header.tensors}
    separate = _OUTPUT in names  # a tied embedding is the output layer, too, and goes to the card
    return Weights(
        "gguf",
        _keys(header),
        size,
        input_bytes=names.get(_INPUT, 0) if separate else 0,
        by_layer=_by_layer(header.tensors),
    )


def _by_layer(tensors: Iterable[Tensor]) -> tuple[int, ...]:
    layers: dict[int, int] = {}
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        if block:
            index = int(block[1][:9])
            layers[index] = layers.get(index, 0) + (tensor.bytes or 0)
    return tuple(size for _, size in sorted(layers.items()))


def _whole(tensors: Iterable[Tensor]) -> int:
    return sum(
        tensor.bytes or 0
        for tensor in tensors
        if len(tensor.dims) < 2 or _WHOLE_ON_EACH.search(tensor.name)
    )


def _keys(header: Header) -> dict[str, Any]:
    """The metadata; how many words there are is counted where no key says it."""
    keys = {key: _text(value) for key, value in header.metadata.items()
            if not key.startswith(_SOURCES)}  # fmt: skip
    words = next((t.dims[1] for t in header.tensors if t.name == _INPUT and len(t.dims) > 1), None)
    if words is not None and header.architecture:
        keys.setdefault(f"{header.architecture}.vocab_size", str(words))
    return keys


def _nested(flat: Mapping[str, Value]) -> dict[str, Any]:
    """config.json as it was written: `text_config.head_dim` is a key below `text_config`."""
    root: dict[str, Any] = {}
    for key, value in flat.items():
        if key.startswith(_SOURCES):
            continue
        *folders, name = key.split(".")
        below = root
        for folder in folders:
            inner = below.setdefault(folder, {})
            if not isinstance(inner, dict):
                break
            below = inner
        else:
            below.setdefault(name, _text(value))
    return root


def _text(value: Value) -> str | list[str]:
    return [_written(each) for each in value] if isinstance(value, tuple) else _written(value)


def _written(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
