"""Which remembered boot speaks for a plan: of the same the truth, of one like it a band. Pure.

The same: payload, engine (and version, where one is asked for), flags that memory hangs on, and
device. Alike: only what neither weights nor activations hang on differs, such as the context.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from meshctl.budget.budget import Budget
from meshctl.budget.card import Card
from meshctl.budget.ledger import Line, Source
from meshctl.budget.on_vllm import SINCE, UTILISATION_NEW, UTILISATION_OLD
from meshctl.budget.overhead import LLAMA_CONTEXT
from meshctl.budget.settings import VERSION, Geometry, Measured
from meshctl.budget.tenants import Tenant
from meshctl.quantities import show_minute
from meshctl.state.boot import Boot, BootRecord

NO_SHAPE = ("engine", "config", "gguf", "engine_version", "device_bytes", "weights_bytes",
            "available_kv_bytes", "reserved_bytes")  # fmt: skip
"""Keys of a geometry that are no wish about how it is served."""
CACHE_ALONE = {
    "vllm": frozenset({"context", "kv_dtype", "kv_dtype_k", "kv_dtype_v", "prefix_caching",
                       "block_size", "utilisation", "kv_memory_bytes"}),
    "llama.cpp": frozenset({"context", "kv_dtype", "kv_dtype_k", "kv_dtype_v"}),
}  # fmt: skip
"""What changes the caches, and nothing else of note."""
SPREAD, LEAST_SPREAD = 0.1, 64 * 2**20
"""How far the overhead of one like it may be off, either way: a rule of ours, so the band is
*assumed* although its middle was measured."""
GRAPHS_INSIDE = (0, 21, 0)
"""From here on vLLM counts its graphs before it makes the pool; facts/serving 2.4."""
Origins = Mapping[str, tuple[Source, str]]


@dataclass(frozen=True)
class Recall:
    """What boots add to a plan. `boot` is the one of the very same plan."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    origins: Origins = field(default_factory=dict)
    measured: Measured = field(default_factory=Measured)
    boot: Boot | None = None
    line: Line | None = None

    def marked(self, found: Budget, tenant: Tenant) -> Budget:
        """The budget with what was measured, and with why a boot that came up is no success."""
        lines = () if self.line is None else (self.line,)
        if self.boot is None:
            return replace(found, why=(*found.why, *lines))
        short = shortened(tenant, self.boot)
        if short:
            lines = (*lines, Line("refused", "context", "measured", short))
            found = replace(found, verdict="no", binds="context")
        return replace(
            found,
            kv_tokens=self.boot.kv_tokens or found.kv_tokens,
            max_concurrency=self.boot.max_concurrency or found.max_concurrency,
            graphs_bytes=self.boot.graphs_bytes,
            why=(*found.why, *lines),
        )


def recalled(tenant: Tenant, card: Card, geometry: Geometry) -> Recall:
    """What the newest boot of the same says, else the newest of one like it; nothing without."""
    boots = tenant.weights.boots if tenant.weights else ()
    if not boots:
        return Recall()
    fitting = [one for one in boots if _is_of(one, card, geometry)]
    shape = shape_of(tenant, geometry)
    for one in fitting:
        if one.shape == shape and one.device_bytes == card.usable_bytes:
            return _same(one, card)
    for one in fitting:
        if _without_caches(one.shape, geometry) == _without_caches(shape, geometry):
            return _alike(one, card, geometry)
    return Recall()


def shape_of(tenant: Tenant, geometry: Geometry) -> dict[str, str]:
    """Every setting that memory hangs on, as it was written or asked for; flags of which nobody
    here makes a number by a digest, for their values are nobody's business."""
    shape = {
        name: str(value)
        for name in Geometry.model_fields
        if name not in NO_SHAPE and (value := getattr(geometry, name)) is not None
    }
    others = "\n".join(sorted(tenant.asked.others))
    if others:
        shape["others"] = hashlib.sha256(others.encode()).hexdigest()[:16]
    return shape


def shortened(tenant: Tenant, boot: Boot) -> str:
    """Why a boot came up with less than was declared; empty when it did not."""
    declared = declared_context(tenant)
    if declared is None or boot.context is None or boot.context >= declared:
        return ""
    return (
        f"the engine serves {boot.context:,} tokens a request where {declared:,} are declared, and "
        "started all the same"
    )


def declared_context(tenant: Tenant) -> int | None:
    """Tokens of one request, as the flags say; None where they say nothing."""
    settings = tenant.asked.settings
    if "context" not in settings:
        return None
    whole, slots = int(settings["context"]), int(settings.get("sequences") or 0)
    one_pool = settings.get("kv_unified") == "true"
    return whole // slots if tenant.engine == "llama-server" and slots and not one_pool else whole


def overhead_of(record: BootRecord, *, shared: bool) -> tuple[int, int] | None:
    """What one boot took beside weights and caches, at least and at most; None where its log does
    not tell. vLLM: its share of the device less both; before 0.21 its graphs came on top."""
    boot = record.boot
    if boot.engine == "llama.cpp":
        compute = boot.of("compute", shared=shared)
        output = boot.of("output", shared=shared) or 0
        return None if compute is None else (compute + output + LLAMA_CONTEXT[0],
                                             compute + output + LLAMA_CONTEXT[1])  # fmt: skip
    room, pinned = boot.available_kv_bytes, "kv_memory_bytes" in record.shape
    if boot.weights_bytes is None or room is None or pinned:
        return None
    version = version_of(boot.version)
    usual = UTILISATION_NEW if version is None or version >= SINCE else UTILISATION_OLD
    share = float(record.shape.get("utilisation", usual))
    left = ceil(record.device_bytes * share) - boot.weights_bytes - room
    outside = version is not None and version < GRAPHS_INSIDE
    return None if left < 0 else (left, left + (boot.graphs_bytes or 0) * outside)


def version_of(text: str | None) -> tuple[int, int, int] | None:
    """`0.9.2` as numbers."""
    match = VERSION.fullmatch(text or "")
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def _is_of(record: BootRecord, card: Card, geometry: Geometry) -> bool:
    version = geometry.engine_version
    return (
        record.boot.engine == geometry.engine
        and (record.device, record.devices) == (card.name, card.count)
        and version in (None, record.boot.version)
    )


def _without_caches(shape: Mapping[str, str], geometry: Geometry) -> dict[str, str]:
    left_out = CACHE_ALONE[geometry.engine]
    return {name: value for name, value in shape.items() if name not in left_out}


def _same(record: BootRecord, card: Card) -> Recall:
    boot, text = record.boot, f"at the boot of {_when(record)}"
    changes: dict[str, Any] = {"weights_bytes": _weights(boot, card)}
    measured = Measured(overhead_of(record, shared=card.unified), text=f"share less both, {text}")
    if boot.engine == "vllm":
        changes |= {"available_kv_bytes": boot.available_kv_bytes, "engine_version": boot.version}
    else:
        measured = replace(
            measured,
            pool_bytes=boot.of("caches", shared=card.unified),
            state_bytes=boot.of("state", shared=card.unified),
            source="assumed",
            text=f"the compute buffers {text}, and a driver's context, which nobody printed",
        )
    return _recall(changes, text, measured, boot, f"measured {text}, served the same")


def _alike(record: BootRecord, card: Card, geometry: Geometry) -> Recall:
    """Its weights are these; its overhead is near, and nearer than any that others saw."""
    text = f"at the boot of {_when(record)}, served otherwise"
    found = overhead_of(record, shared=card.unified)
    measured = Measured()
    if found is not None:
        low, high = found
        more, less = _scores(record, geometry)
        off = max(LEAST_SPREAD, round(SPREAD * high))
        band = (max(0, low - off - less), high + off + more)
        measured = Measured(band, source="assumed", text=text)
    changes = {"weights_bytes": _weights(record.boot, card)}
    return _recall(changes, text, measured, None, f"narrowed by what was measured {text}")


def _scores(record: BootRecord, geometry: Geometry) -> tuple[int, int]:
    """llama.cpp's mask is as wide as the pool: a longer one takes more, a shorter one less."""
    before, now = record.shape.get("context"), geometry.context
    if geometry.engine == "vllm" or before is None or now is None:
        return 0, 0
    grown = (now - int(before)) * 4 * (geometry.ubatch or 512)
    return max(0, grown), max(0, -grown)


def _recall(
    changes: Mapping[str, Any], text: str, measured: Measured, boot: Boot | None, line: str
) -> Recall:
    known = {key: value for key, value in changes.items() if value is not None}
    origins: Origins = {key: ("measured", text) for key in known}
    return Recall(known, origins, measured, boot, Line("measured", None, "measured", line))


def _weights(boot: Boot, card: Card) -> int | None:
    return boot.weights_bytes if boot.engine == "vllm" else boot.of("weights", shared=card.unified)


def _when(record: BootRecord) -> str:
    version = f" {record.boot.version}" if record.boot.version else ""
    return f"{show_minute(record.at)}, {record.boot.engine}{version}"
