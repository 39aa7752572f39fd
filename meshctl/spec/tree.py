"""The tree of a fleet file: text, lists and mappings, each with the place it was written. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = "str | dict[str, Node] | list[Node] | None"


class Node(NamedTuple):
    """A value and where it stands, in a mapping the place of its key. Lines count from 1."""

    value: Value
    line: int
    column: int

    def place(self, file: str) -> str:
        """`file:line:column`."""
        return f"{file}:{self.line}:{self.column}"


class Complaint(NamedTuple):
    """Something wrong with the key at `path`; its place is looked up when all are gathered."""

    path: str
    message: str
    hint: str = ""


def entries(node: Node | None) -> dict[str, Node]:
    """The entries of a mapping; of anything else none, for its shape is complained of elsewhere."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def join(path: str, key: str | int) -> str:
    """`services.chat` and `image` -> `services.chat.image`."""
    return f"{path}.{key}" if path else str(key)


def plain(node: Node) -> Any:
    """The tree as dicts, lists, text and None."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def marks(node: Node) -> dict[str, tuple[int, int]]:
    """Line and column of every path of the tree; the root has the empty path."""
    found: dict[str, tuple[int, int]] = {}
    _mark(node, "", found)
    return found


def _mark(node: Node, path: str, found: dict[str, tuple[int, int]]) -> None:
    found[path] = (node.line, node.column)
    value = node.value
    if isinstance(value, dict):
        for key, child in value.items():
            _mark(child, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _mark(child, f"{path}.{index}", found)


def nearest(known: Mapping[str, tuple[int, int]], path: str) -> tuple[int, int]:
    """The mark of a path or, where it was not written, of its nearest parent that was."""
    while path and path not in known:
        path = path.rpartition(".")[0]
    return known.get(path, (1, 1))
