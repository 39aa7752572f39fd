"""Reads the config.json beside safetensors: what a model of the hub says about itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from meshctl.payloads.header import Scalar, Value
from meshctl.payloads.safetensors import parse_json
from meshctl.payloads.window import Window

NAME = "config.json"
LONGEST = 1_000_000
MOST_KEYS, MOST_ELEMENTS, DEEPEST = 10_000, 4096, 4


def read_config(window: Window) -> dict[str, Value]:
    """Scalars and short arrays of scalars, nested keys joined by dots. Raises Damaged."""
    window.need(window.size)
    found = parse_json(bytes(window.data), NAME)
    pairs = zip(range(MOST_KEYS), _flat(found, "", DEEPEST), strict=False)
    return {key: value for _, (key, value) in pairs}


def _flat(found: dict[str, Any], under: str, depth: int) -> Iterator[tuple[str, Value]]:
    for key, value in found.items():
        if isinstance(value, dict) and depth:
            yield from _flat(value, f"{under}{key}.", depth - 1)
        elif _is_scalar(value):
            yield f"{under}{key}", value
        elif _is_short(value):
            yield f"{under}{key}", tuple(value)


def _is_short(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_ELEMENTS and all(map(_is_scalar, value))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, Scalar) and not (isinstance(value, str) and len(value) > 4096)


def named(config: dict[str, Value], key: str) -> Value | None:
    """A key of the language model: of multimodal models it is one level down."""
    for under in ("", "text_config.", "llm_config."):
        if f"{under}{key}" in config:
            return config[f"{under}{key}"]
    return None
