"""What the header of a model file says, whatever its format, as plain values. Pure.

Nothing in here was computed by a file: element counts and sizes follow from names and dims by the
table of types, and a header that contradicts itself is `Damaged`, never repaired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from meshctl.errors import CheckFailed

Scalar = str | int | float | bool
Value = Scalar | tuple[Scalar, ...]
ByteOrder = Literal["little", "big"]


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a payload: `id` for scripts, `message` for people."""

    id: str
    message: str


class Damaged(CheckFailed):
    """The header is no header, or contradicts itself or the size of its file."""

    def __init__(self, id: str, message: str) -> None:
        super().__init__(message, hint="fetch the file again, and compare its sha256")
        self.problem = Problem(id, message)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor. `dims` are in the order of the file: innermost first in GGUF, last in
    safetensors. `bytes` is None where the type is unknown: a size is never guessed."""

    name: str
    type: str
    dims: tuple[int, ...]
    bytes: int | None

    @property
    def elements(self) -> int:
        return math.prod(self.dims)


@dataclass(frozen=True)
class Header:
    """One file, or all files of one model taken together.

    `metadata` holds scalars and short arrays by key (safetensors: the keys of config.json, nested
    ones joined by dots, and `__metadata__.KEY`). What is long (vocabularies, merges, templates) is
    known by its sha256 only, in `digests`, which also has every array and template that is short.
    `data_start` and `data_end` are where the tensors begin and end in the (first) file, in bytes;
    the end is None where a type is unknown.
    """

    format: Literal["gguf", "safetensors"]
    architecture: str | None
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    data_start: int
    data_end: int | None
    digests: Mapping[str, str] = field(default_factory=dict)
    byte_order: ByteOrder = "little"
    alignment: int = 1

    @property
    def elements(self) -> int:
        """How many numbers the tensors hold; in packed formats that is not the parameters."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def tensor_bytes(self) -> int | None:
        """Bytes of all tensors without padding; None where a type is unknown."""
        sizes = [tensor.bytes for tensor in self.tensors]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def draft_head(self) -> bool:
        """Whether it drafts its own next tokens: tensors count, not what metadata announces."""
        return any(drafts(tensor.name) for tensor in self.tensors)

    def number(self, key: str) -> int | None:
        """A whole number of the metadata; None where there is none (a bool is none)."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """A text of the metadata; None where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def of(self, key: str) -> int | None:
        """A whole number of the architecture's own keys: `context_length` -> llama's."""
        return self.number(f"{self.architecture}.{key}")


def drafts(name: str) -> bool:
    """Whether a tensor of this name belongs to a draft head (MTP), in either format."""
    return ".nextn." in name or name.startswith(("mtp.", "model.mtp."))
