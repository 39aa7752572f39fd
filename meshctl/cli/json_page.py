"""The page of docs/ that lists the JSON kinds: made from the types of the documents."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from meshctl.ui import (
    answers,
    asked,
    bench,
    boot,
    budget,
    documents,
    federation,
    host_check,
    host_sweep,
    hosts,
    payload_upkeep,
    payloads,
    states,
    upkeep,
)
from meshctl.ui.documents import Document

INTRODUCTION = """\
With `-o json` a command prints one object on stdout, `kind` first; with `-o yaml` the same as YAML.
Sizes are in bytes, durations in seconds, times RFC 3339 in UTC. A key is always there; `null` means
unknown or absent. Whatever goes wrong is `error/v1`. `deploy` of one service prints `rollout/v1`,
of several `rollouts/v1`; `canary`, `cutover`, `rollback`, `resume` and `abort` print `rollout/v1`.
Env values are hashes unless --show-values.
"""
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}


def json_page(made: str) -> str:
    """Every kind with its keys; `made` says where the page comes from."""
    lines = ["# The JSON that commands print", "", made, "", INTRODUCTION]
    for kind in sorted(kinds(), key=_kind):
        lines += [f"## {_kind(kind)}", "", _sentence(kind), ""]
        lines += ["| key | what it holds | |", "|---|---|---|", *_rows(kind), ""]
    return "\n".join(lines).rstrip() + "\n"


def kinds() -> set[type[Document]]:
    """Every type that has a kind."""
    modules = (
        documents, answers, asked, bench, boot, budget, federation, host_check, host_sweep, hosts,
        payload_upkeep, payloads, states, upkeep,
    )  # fmt: skip
    named = [each for module in modules for each in vars(module).values()]
    types = {each for each in named if isinstance(each, type) and issubclass(each, Document)}
    return types - {Document}


def _kind(document: type[BaseModel]) -> str:
    return str(document.model_fields["kind"].default)


def _sentence(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _rows(model: type[BaseModel], under: str = "") -> Iterator[str]:
    """One row a key, those of what is nested below; another document has a section of its own."""
    for name, field in model.model_fields.items():
        if field.exclude or (name == "kind" and not under):
            continue
        path = f"{under}{field.alias or name}"
        yield f"| `{path}` | {_type(field.annotation)} | {_about(field)} |"
        inner = _inner(field.annotation)
        if inner and not issubclass(inner, Document):
            yield from _rows(inner, f"{path}{'[]' if _is_list(field.annotation) else ''}.")


def _about(field: FieldInfo) -> str:
    inner = _inner(field.annotation)
    return field.description or (_sentence(inner) if inner else "")


def _type(annotation: Any) -> str:
    """A type in words: `text or null`, `list of text`, `one of: pass, fail`."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"one of: {', '.join(map(str, args))}"
    if origin in (Union, UnionType):
        return " or ".join("null" if arg is NoneType else _type(arg) for arg in args)
    if origin is tuple:
        return f"list of {_type(args[0])}"
    if origin is dict:
        return f"object of {_type(args[1])} by name"
    if isinstance(annotation, type) and issubclass(annotation, Document):
        return f"`{_kind(annotation)}`"
    return _WORDS.get(annotation, "object")


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple


def _inner(annotation: Any) -> type[BaseModel] | None:
    """The type of what is nested, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_inner(arg) for arg in get_args(annotation) if get_origin(annotation) is not Literal)
    return next((each for each in found if each), None)
