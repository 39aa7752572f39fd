"""Finds which field of the model a key of a fleet file is, and which keys there are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from meshctl.spec.model import Fleet, Frozen
from meshctl.spec.scalars import Unit


class Key(NamedTuple):
    """One key of the format; `*` in its path stands for a name that the author chooses."""

    path: tuple[str, ...]
    owner: type[Frozen]
    field: FieldInfo


def every_key(owner: type[Frozen] = Fleet, under: tuple[str, ...] = ()) -> Iterator[Key]:
    """Every key there is, in the order of the model, parents first."""
    for name, field in owner.model_fields.items():
        path = (*under, name)
        yield Key(path, owner, field)
        for inner in models(field.annotation):
            yield from every_key(inner, (*path, "*") if is_map(field.annotation) else path)


def find(location: Iterable[str | int]) -> Key | None:
    """The key a pydantic error location leads to: names, list positions and tags of unions in it.

    None where the last known key is not the last part, as for the name of a service.
    """
    owners: tuple[type[Frozen], ...] = (Fleet,)
    found: Key | None = None
    names_follow = False
    for part in location:
        if names_follow or not isinstance(part, str) or part.startswith("="):
            names_follow = False
            continue
        owners = _tagged(owners, part)
        owner = next((each for each in owners if part in each.model_fields), None)
        if owner is None:
            found = None if part not in _TAGS else found
            continue
        found = Key((part,), owner, owner.model_fields[part])
        owners = models(found.field.annotation)
        names_follow = is_map(found.field.annotation)
    return found


def known(location: Iterable[str | int]) -> tuple[str, ...]:
    """The keys that may stand inside the mapping at `location`."""
    parent = tuple(location)
    key = find(parent)
    owners = models(key.field.annotation) if key else (Fleet,)
    tagged = _tagged(owners, parent[-1]) if parent else owners
    return tuple(name for owner in tagged for name in owner.model_fields)


def bounds(field: FieldInfo) -> str:
    """`between 1 and 100`, `at least 1`, with the unit of the field; empty without bounds."""
    unit = unit_of(field)
    show = unit.show if unit else str
    low = next((show(m.ge) for m in field.metadata if isinstance(m, Ge)), "")
    above = next((f"more than {show(m.gt)}" for m in field.metadata if isinstance(m, Gt)), "")
    high = next((show(m.le) for m in field.metadata if isinstance(m, Le)), "")
    below = next((f"less than {show(m.lt)}" for m in field.metadata if isinstance(m, Lt)), "")
    if low and high:
        return f"between {low} and {high}"
    least = f"at least {low}" if low else above
    most = f"at most {high}" if high else below
    return " and ".join(part for part in (least, most) if part)


def unit_of(field: FieldInfo) -> Unit | None:
    """What a quantity is counted in; None for text and the like."""
    inside = (
        get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else ()
    )
    inner = [note for each in inside for note in getattr(each, "__metadata__", ())]
    return next((each for each in (*field.metadata, *inner) if isinstance(each, Unit)), None)


def choices(annotation: Any) -> tuple[str, ...]:
    """The words that may stand there, wherever in the annotation they are listed."""
    if get_origin(annotation) is Literal:
        return tuple(str(each) for each in get_args(annotation))
    return tuple(word for inner in get_args(annotation) for word in choices(inner))


def models(annotation: Any) -> tuple[type[Frozen], ...]:
    """The mappings with known keys inside an annotation such as `dict[str, A | B] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return (annotation,)
    return tuple(model for inner in get_args(annotation) for model in models(inner))


def is_map(annotation: Any) -> bool:
    """Whether the author chooses the names of the entries."""
    return get_origin(annotation) is dict


_TAGS = ("cloudrun", "podman")


def _tagged(owners: tuple[type[Frozen], ...], tag: str | int) -> tuple[type[Frozen], ...]:
    """Of the targets the one whose kind it is; pydantic puts the kind into the location."""
    if tag not in _TAGS:
        return owners
    kept = tuple(
        o for o in owners if tag in choices(getattr(o.model_fields.get("kind"), "annotation", None))
    )
    return kept or owners
