"""Reads the scalars of a fleet file from their text, strictly: nothing is guessed or clamped. Pure.

The loader hands every plain scalar over as the text that was written, so `017`, `1.10`, `22:22`
and an all-digit sha stay what the operator typed until the model says what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from meshctl.quantities import parse_bytes, parse_seconds, show_bytes, show_seconds

_INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONGEST = 32
"""No quantity needs more characters; longer text is shown cut and refused before it is computed."""


@dataclass(frozen=True)
class Unit:
    """How the bounds of a quantity are shown; it stands in the annotation beside its reader."""

    noun: str
    show: Callable[[Any], str]


def shown(text: str) -> str:
    """The text in quotes, cut when it is long."""
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'


def _int(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not _INT.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a whole number; write digits, no leading zero")
    return int(value)


def _float(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST or not _FLOAT.fullmatch(value) or not isfinite(float(value)):
        raise ValueError(f"{shown(value)} is not a number")
    return float(value)


def _bool(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in ("true", "false"):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value == "true"


def _quantity(parse: Callable[[str], Any], noun: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if len(value) > _LONGEST or not value.isascii():
            raise ValueError(f"{shown(value)} is not {noun}")
        return parse(value)

    return read


Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Text that needs no quotes even where it looks like a number; an editor is told so."""
Int = Annotated[int, Unit("whole number", str), BeforeValidator(_int)]
Float = Annotated[float, Unit("number", "{:g}".format), BeforeValidator(_float)]
Bool = Annotated[bool, Unit("true or false", str), BeforeValidator(_bool)]
Bytes = Annotated[
    int,
    Unit("size", show_bytes),
    BeforeValidator(_quantity(parse_bytes, "a size")),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["32Gi", "512Mi"]}),
]
Seconds = Annotated[
    float,
    Unit("duration", show_seconds),
    BeforeValidator(_quantity(parse_seconds, "a duration")),
    PlainSerializer(lambda seconds: seconds, return_type=float),
    WithJsonSchema({"type": "string", "examples": ["30s", "2m", "1h"]}),
]
