"""Reads the JSON of a service by its schema: names, types and enums, or a refusal with the path.

What comes out has lowerCamel names, numbers as numbers, enums by name and no nulls. Pure.
"""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.run import schema

_DURATION = re.compile(r"^\d{1,12}(\.\d{1,9})?s$")
_WHOLE = re.compile(r"^-?\d{1,19}$")
_LIMITS = {schema.INT32: 2**31, schema.INT64: 2**63}


def camel(path: str) -> str:
    """A field name or a mask path in lowerCamel, whichever spelling it came in."""
    return re.sub(r"_([a-z0-9])", lambda m: m.group(1).upper(), path)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda m: f"_{m.group(1).lower()}", name)


def read(body: dict[str, Any]) -> dict[str, Any]:
    """A service as it was sent; ApiError 400 names the field that is wrong."""
    service: dict[str, Any] = _message(body, schema.SERVICE, "service")
    return service


def _value(value: Any, kind: schema.Type, path: str) -> Any:
    if kind == schema.ANY:
        return value
    if isinstance(kind, dict):
        return _message(value, kind, path)
    if isinstance(kind, list):
        return _rows(value, kind[0], path)
    if isinstance(kind, tuple):
        return _enum(value, kind, path)
    return _plain(value, kind, path)


def _message(value: Any, fields: dict[str, schema.Type], path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(f"Invalid value at '{path}': an object is expected.", path)
    out = {}
    for spelled, inner in value.items():
        name = camel(spelled)
        if name not in fields:
            # facts s8: an unknown JSON field is refused with "Cannot find field".
            raise invalid(
                f"Invalid JSON payload received. Unknown name \"{spelled}\" at '{path}': "
                "Cannot find field.",
                path,
            )
        if inner is not None:
            out[name] = _value(inner, fields[name], f"{path}.{_snake(name)}")
    return out


def _rows(value: Any, kind: schema.Type, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(f"Invalid value at '{path}': a list is expected.", path)
    return [_value(row, kind, f"{path}[{index}]") for index, row in enumerate(value)]


def _enum(value: Any, names: tuple[str, ...], path: str) -> str:
    """facts s8: requests carry a number or a name; we answer names."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    if isinstance(value, str) and value in names:
        return value
    raise _wrong(value, "TYPE_ENUM", path)


def _plain(value: Any, kind: str, path: str) -> Any:
    if kind in _LIMITS:
        return _whole(value, kind, path)
    if kind == schema.MAP:
        return _map(value, path)
    if kind == schema.DURATION:
        if not isinstance(value, str) or not _DURATION.match(value):
            text = "Illegal duration format; duration must end with 's'"
            raise invalid(f"Invalid value at '{path}' (type.googleapis.com/Duration), {text}", path)
        return value
    if not isinstance(value, bool if kind == schema.BOOL else str):
        raise _wrong(value, kind, path)
    return value


def _whole(value: Any, kind: str, path: str) -> int:
    """proto3 JSON writes whole numbers as numbers or as text."""
    if isinstance(value, str) and _WHOLE.match(value):
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not -_LIMITS[kind] <= value < _LIMITS[kind]:
        raise _wrong(value, kind, path)
    return int(value)


def _map(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise invalid(f"Invalid value at '{path}': an object is expected.", path)
    for key, text in value.items():
        if not isinstance(text, str):
            raise _wrong(text, schema.STRING, f"{path}[{key}]")
    return dict(value)


def _wrong(value: Any, kind: str, path: str) -> ApiError:
    return invalid(f"Invalid value at '{path}' ({kind}), {str(value)[:80]!r}", path)


def same_template(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two filled templates are equal apart from the revision name."""
    return {k: v for k, v in one.items() if k != "revision"} == {
        k: v for k, v in other.items() if k != "revision"
    }
