"""Writes a fleet the way a fleet file says it, so that what is shown can be loaded again. Pure."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from meshctl.quantities import BYTES, show_seconds
from meshctl.spec.endpoint import CLOUD_ONLY, HOST_ONLY
from meshctl.spec.model import CloudRunTarget, Fleet, Frozen, Service
from meshctl.spec.scalars import Unit


def as_file(fleet: Fleet) -> dict[str, Any]:
    """The tree of a fleet file that means the same: sizes and durations have units, keys that say
    nothing are left out, and so is `like`, for what it brings is there."""
    tree = _model(fleet)
    for name, service in fleet.services.items():
        written = tree["services"][name]
        written.pop("like", None)
        for path in _elsewhere(fleet, service):
            _drop(written, path.split("."))
    return tree


def _model(value: Frozen) -> dict[str, Any]:
    fields = type(value).model_fields
    made = {name: _value(getattr(value, name), field) for name, field in fields.items()}
    return {name: each for name, each in made.items() if each not in (None, [], {})}


def _value(value: Any, field: FieldInfo | None = None) -> Any:
    if isinstance(value, Frozen):
        return _model(value)
    if isinstance(value, dict):
        return {name: _value(each) for name, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    if isinstance(value, str):
        return escaped(value)
    return _with_unit(value, _noun(field))


def escaped(value: Any) -> Any:
    """Every text in a tree as a fleet file writes it: `${` would be read as a variable."""
    if isinstance(value, dict):
        return {name: escaped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [escaped(each) for each in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def _noun(field: FieldInfo | None) -> str:
    marks = (mark.noun for mark in (field.metadata if field else ()) if isinstance(mark, Unit))
    return next(marks, "")


def _with_unit(value: Any, noun: str) -> Any:
    if value is None:
        return None
    if noun == "size":
        return size(value)
    return duration(value) if noun == "duration" else value


def size(count: int) -> int | str:
    """Bytes, exact: in the largest binary unit that leaves no rest, else in bytes."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if count % BYTES[unit] == 0:
            return f"{count // BYTES[unit]}{unit}"
    return count


def duration(seconds: float) -> str:
    """Seconds, exact, in the units that people use: 3600 -> `1h`."""
    if seconds == int(seconds):
        return show_seconds(seconds)
    return f"{seconds:f}".rstrip("0") + "s"


def _elsewhere(fleet: Fleet, service: Service) -> tuple[str, ...]:
    """Keys whose defaults are filled in, and which may not stand where no target has a use."""
    clouds = [isinstance(fleet.targets[name], CloudRunTarget) for name in service.target]
    return (() if any(clouds) else CLOUD_ONLY) + (HOST_ONLY if all(clouds) else ())


def _drop(tree: dict[str, Any], path: list[str]) -> None:
    *parents, last = path
    for parent in parents:
        tree = tree.get(parent, {})
    tree.pop(last, None)
