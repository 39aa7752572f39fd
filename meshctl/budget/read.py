"""Turns the text of a geometry file into a Geometry, or says all that is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import ValidationError

from meshctl.budget.budget import Budget
from meshctl.budget.cache import NoContext
from meshctl.budget.keys import BadKey
from meshctl.budget.plan import plan_budget
from meshctl.budget.settings import VERSION, Geometry
from meshctl.errors import Problem, SpecError
from meshctl.spec.fields import bounds, choices
from meshctl.spec.near import near
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint, marks, nearest, plain
from meshctl.spec.yaml import Noun, compose

GEOMETRY = Noun(
    "geometry file", "docs/budget.md shows one", "it has `engine:` and `config:` or `gguf:`"
)
_HINT = "docs/budget.md lists every key"


def budget_of_text(text: str, file: str) -> Budget:
    """The budget of the geometry in `text`, YAML or JSON; `file` is what its places begin with.

    Raises SpecError with every mistake in the order of the file.
    """
    tree, problems = compose(text, file, GEOMETRY)
    data, places = plain(tree), marks(tree)
    geometry, complaints = _parse(data)
    if geometry is not None:
        try:
            budget = plan_budget(geometry)
        except BadKey as bad:
            complaints = [bad.complaint]
        except NoContext:
            complaints = [Complaint("", "context is missing", "the model's keys name none either")]
        else:
            if not problems:
                return budget
    problems += [
        Problem(f"{file}:{line}:{column}", one.path, one.message, one.hint or _HINT)
        for one in complaints
        for line, column in [nearest(places, one.path)]
    ]
    raise SpecError(tuple(sorted(problems, key=_place)))


def _parse(data: Any) -> tuple[Geometry | None, list[Complaint]]:
    try:
        geometry = Geometry.model_validate(data)
    except ValidationError as error:
        return None, [_complaint(detail) for detail in error.errors(include_url=False)]
    wrong = list(_across(geometry))
    return (None, wrong) if wrong else (geometry, [])


def _across(geometry: Geometry) -> Iterator[Complaint]:
    """What no single key shows."""
    if (geometry.config is None) == (geometry.gguf is None):
        yield Complaint("", "one of `config:` and `gguf:` is wanted", "the keys of the model")
    version = geometry.engine_version
    if geometry.engine == "vllm" and version is not None and not VERSION.fullmatch(version):
        message = f"{shown(version)} is not a version of vLLM"
        yield Complaint("engine_version", message, "such as 0.19.1")


def _complaint(detail: Any) -> Complaint:
    location, kind, given = detail["loc"], detail["type"], detail["input"]
    path = ".".join(str(part) for part in location)
    name = str(location[0]) if location else ""
    field = Geometry.model_fields.get(name)
    if kind == "extra_forbidden":
        return Complaint(path, "unknown key", near(name, Geometry.model_fields))
    about = (field.description or "") if field else ""
    if kind == "missing":
        return Complaint(path, f"{name} is required", f"one of: {_words(name)}")
    if kind == "literal_error":
        message = f"{shown(str(given))} is not one of: {_words(name)}"
        return Complaint(path, message, near(str(given), _choices(name)))
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal") and field:
        return Complaint(path, f"{given} is out of range: it must be {_bounds(name)}", about)
    if kind == "value_error":
        return Complaint(path, detail["msg"].removeprefix("Value error, "), about)
    return Complaint(path, _SHAPES.get(kind, detail["msg"]), about)


_SHAPES = {
    "dict_type": "a mapping is wanted here",
    "string_type": "text is wanted here, not a list or a mapping",
    "int_type": "a whole number is wanted here",
    "float_type": "a number is wanted here",
    "bool_type": "true or false is wanted here",
}


def _choices(name: str) -> tuple[str, ...]:
    return choices(Geometry.model_fields[name].annotation)


def _words(name: str) -> str:
    return ", ".join(_choices(name))


def _bounds(name: str) -> str:
    field = Geometry.model_fields[name]
    own = bounds(field)
    inner = (part for part in get_args(field.annotation) if hasattr(part, "__metadata__"))
    return own or next((str(part) for part in inner), "in range")


def _place(problem: Problem) -> tuple[int, int]:
    _, line, column = problem.place.rsplit(":", 2)
    return int(line), int(column)
