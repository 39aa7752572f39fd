"""What an engine said of its memory when it started, and for what that holds. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from meshctl.spec.model import Frozen

Part = Literal["weights", "caches", "state", "compute", "output"]
_IN_HOST_MEMORY = ("CPU", "BLAS", "AMX")
MOST_BYTES = 2**50
MOST_TOKENS = 2**40
MOST_ROWS = 256
"""Buffers of one boot: no engine has so many, and a log may be anybody's."""


class Buffer(Frozen):
    """One line of llama.cpp: what it keeps where, such as 8 MiB of caches on CUDA0."""

    device: str = Field(max_length=64)
    part: Part
    bytes: int = Field(ge=0, le=MOST_BYTES)

    @property
    def on_card(self) -> bool:
        """Whether its memory is a card's: CUDA_Host and CPU_Mapped are the host's."""
        return not self.device.startswith(_IN_HOST_MEMORY) and not self.device.endswith("_Host")


class CacheSize(Frozen):
    """One cache of llama.cpp over all devices; `cells` are tokens of one of `streams`."""

    cells: int = Field(ge=0, le=MOST_TOKENS)
    layers: int = Field(ge=0, le=MOST_TOKENS)
    streams: int = Field(ge=0, le=MOST_TOKENS)
    bytes: int = Field(ge=0, le=MOST_BYTES)


class Boot(Frozen):
    """Bytes on one device, as the log of one boot has them; None where it does not say.

    `context` is that of one request, as the engine really uses it; `shrunk_from` the one that it
    says it gave up. Of several workers the one with the least room and the heaviest weights.
    """

    engine: Literal["vllm", "llama.cpp"]
    version: str | None = Field(default=None, max_length=64)
    ready: bool = False
    context: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    shrunk_from: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    sequences: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    weights_bytes: int | None = Field(default=None, ge=0, le=MOST_BYTES)
    available_kv_bytes: int | None = Field(default=None, ge=-MOST_BYTES, le=MOST_BYTES)
    num_blocks: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    kv_tokens: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    max_concurrency: float | None = Field(default=None, ge=0, le=MOST_TOKENS)
    graphs_bytes: int | None = Field(default=None, ge=0, le=MOST_BYTES)
    layers_on_card: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    layers: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    buffers: tuple[Buffer, ...] = Field(default=(), max_length=MOST_ROWS)
    caches: tuple[CacheSize, ...] = Field(default=(), max_length=MOST_ROWS)
    states: tuple[CacheSize, ...] = Field(default=(), max_length=MOST_ROWS)

    @property
    def said_sizes(self) -> bool:
        """Whether there is anything to learn of its memory."""
        room = self.available_kv_bytes
        return bool(self.buffers) if self.engine == "llama.cpp" else room is not None and room >= 0

    @property
    def said_anything(self) -> bool:
        """Whether this is the log of a boot at all."""
        return self != Boot(engine=self.engine, version=self.version)

    def of(self, part: Part, *, shared: bool) -> int | None:
        """llama.cpp's buffers of one kind on the card that has most of them; with `shared` memory
        the host's count, too, for it is the same."""
        sizes: dict[str, int] = {}
        for one in self.buffers:
            if one.part == part and (shared or one.on_card):
                sizes[one.device] = sizes.get(one.device, 0) + one.bytes
        if not self.buffers:
            return None
        return sum(sizes.values()) if shared else max(sizes.values(), default=0)


class BootRecord(Frozen):
    """One measured boot and for what it holds: the payload (by all its digests), the settings that
    memory hangs on, and the device. `at` is RFC 3339."""

    kind: Literal["boot/v1"] = "boot/v1"
    at: str = Field(max_length=64)
    payload: str = Field(pattern=r"^[0-9a-f]{64}$")
    device: str = Field(max_length=256)
    devices: int = Field(ge=1, le=1024)
    device_bytes: int = Field(ge=0, le=MOST_BYTES)
    shape: dict[str, Annotated[str, Field(max_length=64)]] = Field(max_length=64)
    boot: Boot

    @field_validator("shape")
    @classmethod
    def _numbers_are_numbers(cls, shape: dict[str, str]) -> dict[str, str]:
        """A plan reckons with these."""
        if not re.fullmatch(r"\d{1,12}", shape.get("context", "1")):
            raise ValueError("context is no number")
        if not re.fullmatch(r"[01]|0?\.\d{1,20}|1\.0{1,20}", shape.get("utilisation", "1")):
            raise ValueError("utilisation is no share")
        return shape

    @property
    def key(self) -> tuple[object, ...]:
        """What two records have in common of which one replaces the other in time."""
        return (
            self.boot.engine, self.boot.version, self.device, self.devices, self.device_bytes,
            tuple(sorted(self.shape.items())),
        )  # fmt: skip
