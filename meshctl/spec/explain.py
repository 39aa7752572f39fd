"""Says in plain sentences what pydantic found wrong in the tree of a fleet file. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import ValidationError

from meshctl.spec import fields
from meshctl.spec.model import FORMS
from meshctl.spec.near import near
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint

Location = tuple[str | int, ...]
MOST = 1000
"""Nobody reads more; a file with a million mistakes must not take minutes to be refused."""


def explain(error: ValidationError, data: Any) -> Iterator[Complaint]:
    """One complaint for each mistake, with the range or the allowed words, and near names."""
    for detail in islice(error.errors(include_url=False), MOST):
        location = detail["loc"]
        path = ".".join(str(part) for part in steps(location, data, detail["type"] == "missing"))
        yield Complaint(path, *_sentence(detail, location))


def steps(location: Location, data: Any, missing: bool = False) -> Location:
    """The location without the tags of unions, which are not in the file."""
    found: list[str | int] = []
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        inside = isinstance(data, dict) and part in data
        if not inside and not (isinstance(data, list) and isinstance(part, int)):
            if is_last and missing:
                found.append(part)
            continue
        found.append(part)
        data = data[part]
    return tuple(found)


def _sentence(detail: Any, location: Location) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing" or kind == "union_tag_not_found":
        return _missing(kind, location)
    if detail["input"] is None:
        return "there is nothing here", 'write a value, or "" for empty text'
    if kind == "extra_forbidden":
        return "unknown key", near(str(location[-1]), fields.known(location[:-1]))
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, "), _hint(location)
    if kind == "string_pattern_mismatch":
        form = FORMS.get(context["pattern"], context["pattern"])
        return f"{shown(detail['input'])} does not have the right form", f"write {form}"
    if kind in ("literal_error", "union_tag_invalid"):
        return _wrong_word(detail, location)
    if kind in _BOUNDS:
        return _out_of_range(detail, location)
    return _SHAPES.get(kind, detail["msg"]), _hint(location)


_SHAPES = {
    "dict_type": "a mapping is wanted here",
    "model_type": "a mapping is wanted here",
    "model_attributes_type": "a mapping is wanted here",
    "tuple_type": "a list is wanted here",
    "frozen_set_type": "a list is wanted here",
    "string_type": "text is wanted here, not a list or a mapping",
    "int_type": "a whole number is wanted here",
    "float_type": "a number is wanted here",
    "bool_type": "true or false is wanted here",
    "too_short": "at least one entry is wanted here",
}
_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def _missing(kind: str, location: Location) -> tuple[str, str]:
    if kind == "union_tag_not_found":
        return "kind is missing", "write `kind: cloudrun` or `kind: podman`"
    key = fields.find(location)
    return "is required", (key.field.description or "") if key else ""


def _wrong_word(detail: Any, location: Location) -> tuple[str, str]:
    if detail["type"] == "union_tag_invalid":
        words: tuple[str, ...] = ("cloudrun", "podman")
        wrong = detail["ctx"]["tag"]
    else:
        key = fields.find(location)
        words = fields.choices(key.field.annotation) if key else ()
        wrong = detail["input"]
    hint = near(str(wrong), words)
    message = f"{shown(str(wrong))} is not one of: {', '.join(words)}"
    return message, hint if hint.startswith("did you mean") else _hint(location)


def _out_of_range(detail: Any, location: Location) -> tuple[str, str]:
    key = fields.find(location)
    if key is None:
        return detail["msg"], ""
    unit = fields.unit_of(key.field)
    given = detail["input"]  # of a key that may be left out: the text that was written
    value = unit.show(given) if unit and not isinstance(given, str) else str(given)
    return f"{value} is out of range: it must be {fields.bounds(key.field)}", _hint(location)


def _hint(location: Location) -> str:
    key = fields.find(location)
    return (key.field.description or "") if key else ""
