"""Reads the counters of an engine from the text of its /metrics. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_SAMPLE = re.compile(r"^(?:llamacpp|vllm):(\w+)(?:\{[^\n]*\})? +([^\s]+)", re.MULTILINE)


@dataclass(frozen=True)
class Counters:
    """What both engine families count; None where it is not said, which is not zero."""

    tokens: float | None = None
    busy: float | None = None
    drafted: float | None = None
    accepted: float | None = None


def read_counters(text: str) -> Counters | None:
    """None where no engine that we know speaks. Of several models or engines, all together."""
    sums: dict[str, float] = {}
    for name, written in _SAMPLE.findall(text):
        if (value := _finite(written)) is not None:
            sums[name] = sums.get(name, 0.0) + value
    if not sums:
        return None
    busy = ("requests_processing", "requests_deferred", "num_requests_running",
            "num_requests_waiting")  # fmt: skip
    known = [sums[name] for name in busy if name in sums]
    return Counters(
        tokens=sums.get("tokens_predicted_total", sums.get("generation_tokens_total")),
        busy=sum(known) if known else None,
        drafted=_either(sums, "spec_decode_num_draft_tokens"),
        accepted=_either(sums, "spec_decode_num_accepted_tokens"),
    )


def _either(sums: dict[str, float], name: str) -> float | None:
    return sums.get(f"{name}_total", sums.get(name))


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
