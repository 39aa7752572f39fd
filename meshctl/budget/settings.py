"""The geometry file: what the model is and how it is to be served, as frozen types. Pure.

Sizes are bytes on one device. What is left out is the engine's default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from meshctl.budget.dtypes import Dtype
from meshctl.budget.ledger import Ledger, Source
from meshctl.spec.model import Frozen
from meshctl.spec.scalars import Bool, Float, Int, Text

SsmDtype = Literal["auto", "f32", "f16", "bf16", "float32", "float16", "bfloat16"]
VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[.+-]?[a-z].*)?")
MOST_BYTES = 2**50


class Geometry(Frozen):
    """One model and the way it is served."""

    engine: Literal["vllm", "llama.cpp"] = Field(description="whose rules hold")
    config: dict[str, Any] | None = Field(default=None, description="config.json keys")
    gguf: dict[str, Any] | None = Field(default=None, description="GGUF metadata keys")
    engine_version: Text | None = Field(default=None, description="such as 0.19.1")
    tp: Int | None = Field(default=None, ge=1, le=1024, description="devices that share the model")
    context: Int | None = Field(
        default=None, ge=1, le=2**31, description="vLLM: --max-model-len; llama.cpp: -c, all slots"
    )
    sequences: Int | None = Field(
        default=None, ge=1, le=65_536, description="vLLM: --max-num-seqs; llama.cpp: -np"
    )
    kv_dtype: Dtype | None = Field(default=None, description="the type of keys and values")
    kv_dtype_k: Dtype | None = Field(default=None, description="the type of keys alone")
    kv_dtype_v: Dtype | None = Field(default=None, description="the type of values alone")
    ssm_dtype: SsmDtype | None = Field(default=None, description="the type of recurrent states")
    batched_tokens: Int | None = Field(
        default=None, ge=1, le=2**24, description="vLLM: --max-num-batched-tokens; llama.cpp: -b"
    )
    ubatch: Int | None = Field(default=None, ge=1, le=2**24, description="llama.cpp: -ub")
    spec_tokens: Int | None = Field(default=None, ge=0, le=256, description="tokens guessed ahead")
    prefix_caching: Bool | None = Field(default=None, description="vLLM: --enable-prefix-caching")
    kv_unified: Bool | None = Field(default=None, description="llama.cpp: one pool for all slots")
    swa_full: Bool | None = Field(default=None, description="llama.cpp: --swa-full")
    flash_attn: Bool | None = Field(default=None, description="llama.cpp: -fa")
    block_size: Int | None = Field(default=None, ge=1, le=2**20, description="vLLM: --block-size")
    utilisation: Float | None = Field(
        default=None, gt=0, le=1, description="vLLM: --gpu-memory-utilization"
    )
    device_bytes: Int | None = Field(
        default=None, ge=1, le=MOST_BYTES, description="memory an engine can use, one device"
    )
    weights_bytes: Int | None = Field(
        default=None, ge=0, le=MOST_BYTES, description="weights as loaded, one device"
    )
    available_kv_bytes: Int | None = Field(
        default=None, ge=0, le=MOST_BYTES, description="vLLM: available KV cache memory, as printed"
    )
    kv_memory_bytes: Int | None = Field(
        default=None, ge=1, le=MOST_BYTES, description="vLLM: --kv-cache-memory-bytes"
    )
    reserved_bytes: Int | None = Field(
        default=None, ge=0, le=MOST_BYTES, description="what others take of one device"
    )


ONLY_VLLM = (
    "prefix_caching", "block_size", "utilisation", "available_kv_bytes", "kv_memory_bytes",
    "ssm_dtype",
)  # fmt: skip
ONLY_LLAMA = ("ubatch", "kv_unified", "swa_full", "flash_attn")


@dataclass(frozen=True)
class Neighbour:
    """What else is on the device: bytes at least and at most, None where nobody can tell."""

    name: str
    low: int
    high: int | None
    text: str
    prompts: int = 0
    """Bytes of prompts that it may come to keep where card and host share one memory."""


@dataclass(frozen=True)
class Measured:
    """What a boot showed that no key of a geometry holds: the overhead at least and at most, and of
    the very same plan what llama.cpp allocated. None: not measured."""

    overhead: tuple[int, int] | None = None
    pool_bytes: int | None = None
    state_bytes: int | None = None
    source: Source = "measured"
    text: str = ""


@dataclass(frozen=True)
class Told:
    """What stands behind a geometry that no file holds: where its numbers come from, by key,
    who else is on the device, and what a boot showed.

    `prompts` is the limit in bytes of what llama-server keeps of them on this very device: 0 where
    the card has a memory of its own, None where nobody said which it is."""

    origins: Mapping[str, tuple[Source, str]] = field(default_factory=dict)
    neighbours: tuple[Neighbour, ...] = ()
    prompts: int | None = None
    measured: Measured = field(default_factory=Measured)


NOTHING = Told()


@dataclass(frozen=True)
class Settings:
    """Hands out the settings one by one and writes down where each value came from."""

    geometry: Geometry
    ledger: Ledger
    told: Told = NOTHING

    def take(self, name: str, default: Any, text: str = "") -> Any:
        """What the file says, else the engine's default."""
        given = getattr(self.geometry, name)
        if given is not None:
            about = Geometry.model_fields[name].description or ""
            return self.ledger.note(name, given, *self.told.origins.get(name, ("config", about)))
        return self.ledger.note(name, default, "default", text or "left out: the engine's default")

    def note(self, name: str, text: str = "on one device") -> int | None:
        """Write down a number of the device, where it was told."""
        value: int | None = getattr(self.geometry, name)
        if value is not None:
            self.ledger.note(name, value, *self.told.origins.get(name, ("config", text)))
        return value

    def others(self) -> tuple[int, int]:
        """What others take of the device at least and at most, each of them written down."""
        fixed = self.note("reserved_bytes", "what others take of one device") or 0
        for one in self.told.neighbours:
            band = "at least" if one.high is None else f"up to {one.high:,}:"
            self.ledger.note(f"neighbour.{one.name}", one.low, "assumed", f"{band} {one.text}")
        low = fixed + sum(one.low for one in self.told.neighbours)
        return low, fixed + sum(one.high or one.low for one in self.told.neighbours)

    def version(self, newest: tuple[int, int, int]) -> tuple[int, int, int]:
        """The engine's version as numbers; left out, the newest whose source was read."""
        written = self.geometry.engine_version
        if written is None:
            text = ".".join(map(str, newest))
            self.ledger.note("engine_version", text, "assumed", "left out: the newest rules known")
        else:
            origin = self.told.origins.get("engine_version", ("config", "whose rules hold"))
            self.ledger.note("engine_version", written, *origin)
        return self.parsed(newest)

    def parsed(self, newest: tuple[int, int, int]) -> tuple[int, int, int]:
        """The same without a line."""
        match = VERSION.fullmatch(self.geometry.engine_version or "")
        return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else newest

    def unused(self, names: tuple[str, ...]) -> None:
        """Say what was written and means nothing to this engine."""
        for name in names:
            value = getattr(self.geometry, name)
            if value is not None:
                text = f"not a setting of {self.geometry.engine}: nothing hangs on it"
                self.ledger.note(name, value, "config", text)


def raw_keys(geometry: Geometry) -> Mapping[str, Any]:
    """The keys of the model, whichever of both was written."""
    return geometry.config if geometry.config is not None else geometry.gguf or {}
