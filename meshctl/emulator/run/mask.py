"""Update masks: which parts of a request body replace those of the service. Pure."""

from __future__ import annotations

import copy
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.run import schema
from meshctl.emulator.run.schema import UPDATABLE
from meshctl.emulator.run.shape import camel


def paths(text: str | None) -> list[str] | None:
    """The paths of a mask, None when there is no mask; ApiError for unknown ones.

    facts s1: nested ones too, such as scaling.minInstanceCount; a list is replaced as a whole.
    """
    if not text:
        return None
    out = [camel(part.strip()) for part in text.split(",") if part.strip()]
    if "*" in out:
        return list(UPDATABLE)
    for path in out:
        if not _is_known(path.split("."), schema.WISHES):
            raise invalid(f"Invalid update mask path '{path}'.", "update_mask")
    return out


def _is_known(path: list[str], fields: Any) -> bool:
    if not isinstance(fields, dict) or path[0] not in fields:
        return False
    return len(path) == 1 or _is_known(path[1:], fields[path[0]])


def apply(
    spec: dict[str, Any], body: dict[str, Any], masked: list[str] | None, clears: bool
) -> dict[str, Any]:
    """The spec after the update; a path that the body leaves out is cleared."""
    out = copy.deepcopy(spec)
    if masked is None:
        # facts s1, s13: without a mask all updatable fields are replaced; inferred, a setting.
        masked = [name for name in UPDATABLE if clears or name in body]
    for path in masked:
        _set(out, body, path.split("."))
    return out


def _set(target: dict[str, Any], body: dict[str, Any], path: list[str]) -> None:
    """Both are known to be messages all the way down the path."""
    name, rest = path[0], path[1:]
    if rest:
        _set(target.setdefault(name, {}), body.get(name) or {}, rest)
    elif name in body:
        target[name] = copy.deepcopy(body[name])
    else:
        target.pop(name, None)
