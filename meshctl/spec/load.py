"""Turns the text of a fleet file into a Fleet, or says all that is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import chain, islice
from typing import Any

from pydantic import TypeAdapter, ValidationError

from meshctl.errors import Problem, SpecError
from meshctl.spec.check import Names, check
from meshctl.spec.environment import fill
from meshctl.spec.explain import MOST, Location, explain, steps
from meshctl.spec.like import merge
from meshctl.spec.model import Fleet, Frozen, Image, Payload, Service, Target
from meshctl.spec.tree import Complaint, marks, nearest, plain
from meshctl.spec.yaml import compose

_SECTIONS: dict[str, Any] = {
    "targets": dict[str, Target],
    "images": dict[str, Image],
    "payloads": dict[str, Payload],
    "services": dict[str, Service],
}
_RELATED = {"models": ("default_model",), "resources": ("probe", "scaling")}
"""Keys whose rules read the key on the left; without it they would be blamed for nothing."""


def load(text: str, file: str, environ: Mapping[str, str]) -> Fleet:
    """The fleet that `text` declares; `file` is what its places are called after.

    Raises SpecError with every problem, in the order of the file.
    """
    tree, problems = compose(text, file)
    complaints: list[Complaint] = []
    if "${" in text:
        tree, complaints = fill(tree, environ)
    tree, unlike = merge(tree)
    data, places = plain(tree), marks(tree)
    fleet, wrong = _parse(data)
    unset = {nearest(places, complaint.path) for complaint in complaints}
    found = chain(_without_echoes(wrong, unlike, data), check(fleet, Names.written(data)))
    complaints += unlike
    told = (each for each in found if nearest(places, each.path) not in unset)
    complaints += islice(told, MOST)
    problems += _located(complaints, places, file)
    if problems:
        raise SpecError(tuple(sorted(problems, key=_order)))
    return fleet.located(file, places)


def _parse(data: Any) -> tuple[Fleet, list[Complaint]]:
    """The fleet and no complaint, or what is sound of the fleet and every complaint."""
    try:
        return Fleet.model_validate(data), []
    except ValidationError as error:
        return _sound_part(data, error), list(explain(error, data))


def _sound_part(data: Any, error: ValidationError) -> Fleet:
    """What is left without the broken keys, so that the rules across keys can still be tried."""
    sound = deepcopy(data)
    for detail in error.errors(include_url=False, include_input=False):
        path = steps(detail["loc"], data)
        for broken in _to_cut(path, detail["type"] == "extra_forbidden"):
            _delete(sound, broken)
    state = data.get("state")
    sections = {name: _section(sound.get(name), kind) for name, kind in _SECTIONS.items()}
    empty = Fleet.model_construct(meshctl=1, fleet="unsound", targets={})
    return empty.model_copy(update=sections | {"state": state if isinstance(state, str) else None})


def _to_cut(path: Location, unknown: bool) -> Iterator[Location]:
    if unknown:
        yield path
    elif path[:1] == ("services",) and len(path) > 2:
        yield path[: 4 if path[2] == "env" else 3]
        for related in _RELATED.get(str(path[2]), ()):
            yield (*path[:2], related)
    else:
        yield path[:2]


def _delete(data: Any, path: Location) -> None:
    *parents, last = path or ("",)
    for part in parents:
        inside = isinstance(data, dict) and part in data
        data = data[part] if inside or isinstance(data, list) else None
    if isinstance(data, dict):
        data.pop(last, None)


def _section(entries: Any, kind: Any) -> dict[str, Frozen]:
    adapter: TypeAdapter[dict[str, Frozen]] = TypeAdapter(kind)
    sound: dict[str, Frozen] = {}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        try:
            sound |= adapter.validate_python({name: entry})
        except ValidationError:
            continue
    return sound


def _without_echoes(
    wrong: Iterable[Complaint], unlike: Iterable[Complaint], data: Any
) -> Iterable[Complaint]:
    """Leaves out keys said to be missing where the `like` that would bring them is broken."""
    broken = any(complaint.path.endswith(".like") for complaint in unlike)
    for complaint in wrong:
        section, _, rest = complaint.path.partition(".")
        echo = broken and section == "services" and complaint.message == "is required"
        if not (echo and "like" in (data["services"].get(rest.rpartition(".")[0]) or ())):
            yield complaint


def _located(
    complaints: Iterable[Complaint], places: Mapping[str, tuple[int, int]], file: str
) -> list[Problem]:
    """Each mistake once, under the service that wrote it and not under those that took it over."""
    written: dict[tuple[object, ...], Complaint] = {}
    for complaint in complaints:
        place = nearest(places, complaint.path)
        mistake = (place, complaint.message, complaint.path.rpartition(".")[2])
        other = written.get(mistake)
        if other is None or _begin(other, places) < _begin(complaint, places) <= place:
            written[mistake] = complaint
    return [_problem(complaint, places, file) for complaint in written.values()]


def _problem(complaint: Complaint, places: Mapping[str, tuple[int, int]], file: str) -> Problem:
    line, column = nearest(places, complaint.path)
    return Problem(f"{file}:{line}:{column}", *complaint)


def _begin(complaint: Complaint, places: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Where the entry begins that the complaint is about: the last one before a place wrote it."""
    return nearest(places, ".".join(complaint.path.split(".")[:2]))


def _order(problem: Problem) -> tuple[int, int, str, str]:
    _, line, column = problem.place.rsplit(":", 2)
    return int(line), int(column), problem.path, problem.message
