"""Describes the fleet file: the JSON schema for editors, docs/spec.md for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from meshctl.spec import fields
from meshctl.spec.fields import Key
from meshctl.spec.like import JOINED, NEVER
from meshctl.spec.model import FORMS, FREE, Fleet
from meshctl.spec.tree import Node
from meshctl.spec.variables import GENERATED, RESERVED
from meshctl.spec.yaml import compose

_VARIABLE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"}


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a fleet file, as an editor sees it.

    A number or a switch may also come from the environment; a service that says `like` may leave
    out what is otherwise required, and remove with null what it would take over.
    """
    found = _open(Fleet.model_json_schema())
    service, resources, scaling = (
        found["$defs"][name] for name in ("Service", "Resources", "Scaling")
    )
    service["anyOf"] = [{"required": service.pop("required")}, {"required": ["like"]}]
    env = service["properties"]["env"]
    env["additionalProperties"] = _or(env["additionalProperties"], {"type": "null"})
    for removable in (service, resources, scaling):
        for name, key in removable["properties"].items():
            removable["properties"][name] = _or(key, {"type": "null"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "title": "meshctl fleet",
    }


def _open(node: Any) -> Any:
    """The schema with `${NAME}` allowed wherever a bare text would not do."""
    if isinstance(node, list):
        return [_open(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("integer", "number", "boolean") or "pattern" in node:
        return _or(node, _VARIABLE)
    return {key: _open(value) for key, value in node.items()}


def _or(node: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        key: node[key] for key in ("title", "description", "default") if key in node
    }
    return {**said, "anyOf": [{k: v for k, v in node.items() if k not in said}, other]}


def missing_keys(text: str) -> list[str]:
    """Keys of the format that an example does not show with a comment on their line or above it.

    Dotted, with `*` for names that the author chooses: `services.*.scaling.min`. The example must
    be a fleet file that loads.
    """
    tree, _ = compose(text, "example")
    commented = set(_commented(tree, (), text.splitlines()))
    return [".".join(key.path) for key in fields.every_key() if key.path not in commented]


def _commented(node: Node, path: tuple[str, ...], lines: list[str]) -> Iterator[tuple[str, ...]]:
    if not isinstance(node.value, dict | list):
        return
    children = node.value.items() if isinstance(node.value, dict) else (("", n) for n in node.value)
    for name, child in children:
        for here in (path + (name,) * bool(name), (*path, "*")) if name else (path,):
            if _has_comment(child, lines):
                yield here
            yield from _commented(child, here, lines)


def _has_comment(node: Node, lines: list[str]) -> bool:
    above = lines[node.line - 2].lstrip().startswith("#") if node.line > 1 else False
    return above or re.search(r"\s#\s", lines[node.line - 1]) is not None


def markdown() -> str:
    """docs/spec.md, made from the descriptions in the model; ends with a newline."""
    parts = [_HEAD.format(free=FREE, joined=_words(JOINED), never=_words(NEVER[:2]))]
    owners: dict[str, list[Key]] = {}
    for key in fields.every_key():
        owners.setdefault(_owner_path(key), []).append(key)
    parts += [_table(path, keys) for path, keys in owners.items()]
    parts.append(_variables())
    return "\n".join(parts)


def _owner_path(key: Key) -> str:
    path = ".".join(key.path[:-1])
    return f"{path} ({key.owner.__name__})" if path == "targets.*" else path


def _table(path: str, keys: list[Key]) -> str:
    place, _, owner = path.partition(" ")
    kind = ", kind: podman" if "Podman" in owner else ", kind: cloudrun" if owner else ""
    title = f"`{place.replace('*', 'NAME')}`{kind}" if path else "The file"
    about = (keys[0].owner.__doc__ or "").strip()
    rows = "\n".join(_row(key) for key in keys)
    return f"## {title}\n\n{about}\n\n{_COLUMNS}\n{rows}\n"


_COLUMNS = "| key | what it takes | default | meaning |\n|---|---|---|---|"


def _row(key: Key) -> str:
    what = takes(key)
    return f"| `{key.path[-1]}` | {what} | {_default(key)} | {key.field.description} |"


def _default(key: Key) -> str:
    if key.field.is_required():
        return "required"
    value = key.field.default
    if value is None or value in ((), {}, frozenset()):
        return "none"
    if fields.models(type(value)):
        return "see below"
    unit = fields.unit_of(key.field)
    if isinstance(value, bool):
        return str(value).lower()
    return (
        unit.show(value)
        if unit
        else ", ".join((value,) if isinstance(value, str) else map(str, value))
    )


def takes(key: Key) -> str:
    """What may be written there, in a few words: `whole number between 1 and 1000`."""
    unit = fields.unit_of(key.field)
    if unit:
        return f"{unit.noun} {fields.bounds(key.field)}".strip()
    patterns = (getattr(note, "pattern", None) for note in key.field.metadata)
    form = next((FORMS[pattern] for pattern in patterns if pattern in FORMS), "")
    return f"text: {form}" if form else _kind(key.field.annotation)


def _kind(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in inner)
    if origin is dict:
        return f"mapping of names to {_kind(inner[1])}"
    if origin in (tuple, frozenset):
        return f"list of {_kind(inner[0])}"
    if isinstance(annotation, type) and fields.models(annotation):
        return "mapping"
    if inner:
        kinds = dict.fromkeys(
            _kind(each) for each in inner if each is not NoneType and _is_type(each)
        )
        return " or ".join(kinds)
    return _KINDS.get(annotation, "text")


_KINDS: dict[Any, str] = {bool: "true or false", int: "whole number", float: "number"}


def _is_type(annotation: Any) -> bool:
    return isinstance(annotation, type) or get_origin(annotation) is not None


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _variables() -> str:
    made = "\n".join(f"| `{name}` | {source} |" for name, source in GENERATED.items())
    return (
        "## Environment variables that may not be written\n\n"
        f"The platform sets {_words(RESERVED)}. meshctl makes these:\n\n"
        f"| name | made |\n|---|---|\n{made}\n"
    )


_HEAD = """# The fleet file

Made from the model by `scripts/reference.py`; a test compares the two. `configs/example.yaml` shows
every key in use, and `meshctl config schema` prints the same as a JSON schema for editors.

- A plain scalar stays the text that was written until its key says what it is: `017`, `1.10`,
  `22:22` and `no` are never turned into something else. `null`, `~` and nothing at all are null.
- Sizes and durations carry units: `512Mi`, `32GiB` (the same as `32Gi`), `30s`, `2m`, `1h30m`.
- What is out of range or unknown is an error that names the range or the nearest known name.
- `${{NAME}}` in a value reads the environment; a missing variable is an error. `$${{` stands
  for the two characters themselves.
- Keys that begin with `{free}` are yours, wherever the format knows the keys by name.
- `like: SERVICE` takes over what the service does not say itself. {joined}
  are joined entry by entry, every other key is taken or replaced as a whole, {never}
  are never taken over, and `default_model` only together with `models`. null removes what would be
  taken over.
- Tags (`!!python/...`), merge keys (`<<`), a key that stands twice and a second document are
  errors.
"""
